"""Streams of zstd and xz: what is damaged or cut off is an error, as it is of gzip.

Both are unpacked in a bounded memory: a frame of 200 bytes may ask for a dictionary of gigabytes.
"""

from __future__ import annotations

import io
import lzma
from collections.abc import Callable
from typing import IO, Any

import zstandard

_BLOCK = 1 << 12
"""Bytes that are unpacked at once: no more than 128 MiB can come of them."""
XZ_MEMORY = 256 << 20
"""Bytes of memory that an xz stream may take; one of ``xz -9`` takes 65 MiB."""


class _Frames(io.RawIOBase):
    """The unpacked bytes of a stream, from its beginning to its end; frames may follow each other.

    Reading raises ``EOFError`` where the stream is cut off, and ``OSError`` where it is damaged.
    """

    def __init__(self, packed: IO[bytes], begin: Callable[[], Any], padding: bytes = b"") -> None:
        self._packed, self._begin, self._padding = packed, begin, padding
        self._frame = begin()
        self._begun = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        while not self._ready:
            packed = self._frame.unused_data or self._packed.read(_BLOCK)
            if not packed:
                if self._begun:
                    raise EOFError("the packed data end within a frame")
                return 0
            if self._frame.eof:
                self._frame = self._begin()
            if not self._begun and self._padding and not (packed := packed.lstrip(self._padding)):
                continue
            try:
                self._ready = memoryview(self._frame.decompress(packed))
            except (zstandard.ZstdError, lzma.LZMAError) as error:
                raise OSError(_said(error)) from None
            self._begun = not self._frame.eof
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n


def _said(error: Exception) -> str:
    if "Memory usage limit" in str(error):
        return (
            f"unpacking it takes more than {XZ_MEMORY >> 20} MiB of memory, four times what xz -9 "
            "needs; unpack it first, and name what it unpacks to"
        )
    return str(error)


def unzstd(packed: IO[bytes]) -> io.RawIOBase:
    """Return the unpacked bytes of a stream of zstd, which refuses windows beyond 128 MiB."""
    return _Frames(packed, lambda: zstandard.ZstdDecompressor().decompressobj())


def unxz(packed: IO[bytes]) -> io.RawIOBase:
    """Return the unpacked bytes of a stream of xz; zeros may stand between its frames."""
    begin = lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)  # noqa: E731
    return _Frames(packed, begin, padding=b"\0")
