"""Files packed by zstd; one that is damaged or cut off is an error, as it is of gzip."""

from __future__ import annotations

import io
from pathlib import Path

import zstandard

_BLOCK = 1 << 20


def open_zstd(path: str | Path, mode: str = "rb") -> io.BufferedReader:
    """Open a file for reading its unpacked bytes; frames may follow each other.

    Reading raises ``EOFError`` where the file is cut off, and ``OSError`` where it is damaged.
    """
    if mode != "rb":
        raise ValueError(f"mode={mode!r}: expected 'rb'")
    return io.BufferedReader(_Unpacked(Path(path)), _BLOCK)


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a file, from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._begun = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        while not self._ready:
            packed = self._frame.unused_data or self._file.read(_BLOCK)
            if not packed:
                if self._begun:
                    raise EOFError("the zstd data end within a frame")
                return 0
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            try:
                self._ready = memoryview(self._frame.decompress(packed))
            except zstandard.ZstdError as error:
                raise OSError(str(error)) from None
            self._begun = not self._frame.eof
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def close(self) -> None:
        self._file.close()
        super().close()
