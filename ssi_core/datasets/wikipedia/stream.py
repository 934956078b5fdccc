"""The XML of a dump as a stream of whole pages, decompressed and in UTF-8, in bounded memory."""

from __future__ import annotations

import bz2
import codecs
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ssi_core.corpus import inputs
from ssi_core.types import BadInput

LARGEST_PAGE = 32 << 20
"""Bytes of XML of a page; a larger page is left out and counted.

MediaWiki stores at most 2 MiB of wikitext in a page (``$wgMaxArticleSize``), which are at most
12 MiB of XML with every character escaped. A few kilobytes of bz2 can hold a page of gigabytes,
and a parsed page takes about ten times its XML in memory.
"""
PAGE = re.compile(rb"<page[\s>]")
END = b"</page>"
CUT_OFF = "The file is cut off; download it again and compare its checksum."
_BLOCK = 1 << 20
_BEGINNING = 4096
_DECLARATION = re.compile(rb"\s*<\?xml[^<>]*\?>")


def read_file(path: Path, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Yield blocks of at most 1 MiB of a file, from one byte to another."""
    with inputs.open_raw(path) as file:
        file.seek(start)
        left = path.stat().st_size - start if stop is None else stop - start
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            left -= len(block)
            yield block


def decompress(
    path: Path, blocks: Iterable[bytes], start: int = 0, most: int | None = None
) -> Iterator[bytes]:
    """Yield decompressed blocks of at most ``most`` bytes (1 MiB); streams may follow others."""
    most = most or _BLOCK
    offset = start
    decompressor = bz2.BZ2Decompressor()
    begun = False
    limit = left = inputs.unpacked_limit(path.stat().st_size)
    for block in blocks:
        raw = block
        while raw or not (decompressor.needs_input or decompressor.eof):
            if decompressor.eof:
                decompressor = bz2.BZ2Decompressor()
            try:
                xml = decompressor.decompress(raw, most)
            except OSError:
                raise BadInput(
                    f"{path}: corrupt bz2 between bytes {offset} and {offset + len(block)}. "
                    "Download it again and compare its checksum."
                ) from None
            begun = True
            raw = decompressor.unused_data
            left -= len(xml)
            if left < 0:
                raise inputs.too_large(str(path), limit)
            if xml:
                yield xml
        offset += len(block)
    if begun and not decompressor.eof:
        raise BadInput(f"{path}: the bz2 data end at byte {offset} within a stream. {CUT_OFF}")


def is_utf16(start: bytes) -> bool:
    """Return True if a text begins with a byte order mark of UTF-16."""
    return start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def _in_utf8(path: Path, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield blocks as they are, or those of a text in UTF-16 in UTF-8, without its declaration."""
    start = b""
    while len(start) < _BEGINNING and (block := next(blocks, b"")):
        start += block
    if not is_utf16(start):
        yield start
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder("utf-16")()
    offset = 0
    try:
        xml = decoder.decode(start).encode()
        yield xml[declaration.end() :] if (declaration := _DECLARATION.match(xml)) else xml
        offset = len(start)
        for block in blocks:
            yield decoder.decode(block).encode()
            offset += len(block)
        yield decoder.decode(b"", final=True).encode()
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path}: the dump is in UTF-16 and isn't valid after byte {offset} of the "
            f"decompressed text ({error.reason}). {CUT_OFF}"
        ) from None


def read_xml(path: Path, most: int | None = None) -> Iterator[tuple[bytes, float]]:
    """Yield blocks of the XML of a dump, in UTF-8, with the share of the file read so far.

    Of bz2 a block has at most ``most`` bytes, or 1 MiB.

    Raises
    ------
    BadInput
        The compression is damaged, or a text in UTF-16 is.
    """
    size = max(path.stat().st_size, 1)
    read = 0

    def counted() -> Iterator[bytes]:
        nonlocal read
        for block in read_file(path):
            read += len(block)
            yield block

    raw = decompress(path, counted(), most=most) if path.suffix == ".bz2" else counted()
    for xml in _in_utf8(path, raw):
        yield xml, read / size


class WholePages:
    """Cut whole pages out of blocks of XML, without those larger than `LARGEST_PAGE`.

    Attributes
    ----------
    begun : bool
        A page has begun.
    left_out : int
        Pages that were too large.
    offset : int
        Byte of the XML where the last page ends.
    rest : bytes
        What follows the last page, once all is read; of what is too large, the beginning.
    """

    def __init__(self) -> None:
        self.begun, self.left_out, self.offset, self.rest = False, 0, 0, b""
        self._held = bytearray()
        self._dropped = 0

    def read(self, blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield runs of whole pages, each with the byte of the XML where it begins.

        A block is smaller than `LARGEST_PAGE`, so that only its first page can be too large.
        """
        held, searched = self._held, 0
        for block in blocks:
            held += block
            if not self.begun and not self._begin():
                continue
            if held.find(END, searched) >= 0:
                self._leave_out(held.find(END, searched) + len(END))
                end = held.rfind(END) + len(END)
                if end >= len(END):
                    with memoryview(held) as whole:  # a slice of a bytearray: one copy more
                        run = bytes(whole[:end])
                    yield self.offset, run
                    del held[:end]
                    self.offset += end
            elif self._dropped + len(held) > LARGEST_PAGE:
                self._drop()
            searched = max(0, len(held) - len(END) + 1)
        self.rest = self.rest or bytes(held)

    def _begin(self) -> bool:
        """Drop what precedes the first page."""
        first = PAGE.search(self._held)
        before = first.start() if first else max(0, len(self._held) - len(b"<page"))
        del self._held[:before]
        self.offset += before
        self.begun = first is not None
        return self.begun

    def _drop(self) -> None:
        """Forget what is held of a page that is too large, but its beginning and a cut end tag."""
        if not self._dropped:
            self.rest = bytes(self._held[:_BEGINNING]) + b"..."
        gone = len(self._held) - len(END) + 1
        del self._held[:gone]
        self._dropped += gone

    def _leave_out(self, end: int) -> None:
        """Leave out the first page, which ends there, if it is too large."""
        if self._dropped + end > LARGEST_PAGE:
            del self._held[:end]
            self.offset += self._dropped + end
            self.left_out += 1
            self._dropped, self.rest = 0, b""
