"""Files packed by zstd; one that is damaged or cut off is an error, as it is of gzip."""

from __future__ import annotations

import io
from typing import IO

import zstandard

_BLOCK = 1 << 12
"""Bytes that are unpacked at once: no more than 128 MiB can come of them."""


class Unzstd(io.RawIOBase):
    """The unpacked bytes of a stream, from its beginning to its end; frames may follow each other.

    Reading raises ``EOFError`` where the stream is cut off, and ``OSError`` where it is damaged.
    """

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._begun = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:  # noqa: D102
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]  # noqa: D102
        while not self._ready:
            packed = self._frame.unused_data or self._packed.read(_BLOCK)
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
