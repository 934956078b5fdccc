"""A MediaWiki export as a header and pieces of whole pages, streamed, plain or bz2.

``</page>`` can't stand inside a text (``<`` is escaped there), so whole pages are cut at that tag
without parsing; a real XML parser reads the pieces afterwards, in whatever process. The streams of
a ``-multistream.xml.bz2`` begin where its index says, hence they're decompressed in parallel too.
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lxml import etree

from ssi_core.corpus.titles import Site
from ssi_core.text.wikinames import LANGUAGES
from ssi_core.types import BadInput

PIECE_BYTES = 16 << 20
"""XML bytes of a piece: what a worker holds at a time, and what becomes a part on disk."""
_BLOCK = 1 << 20
_LARGEST_PAGE = 512 << 20
_LARGEST_HEAD = 4 << 20
_COMPRESSION = 5
_CUT_OFF = "The file is cut off; download it again and compare its checksum."
_PAGE = re.compile(rb"<page[\s>]")
_WIKI_NAME = re.compile(r"([a-z][a-z_]*?)wiki(?:-|\.|_|$)")


@dataclass(frozen=True)
class Piece:
    """Whole pages of a dump, in hand or still in the file.

    Attributes
    ----------
    path : the dump
    start, stop : bytes of the XML where ``xml`` is in hand, of the file where it isn't
    xml : the pages, or None: streams ``start`` to ``stop`` of a multistream dump
    last : the end of the dump is to be in these streams
    done : share of the dump that is read after this piece
    """

    path: Path
    start: int
    stop: int
    xml: bytes | None
    last: bool
    done: float

    def load(self) -> Piece:
        """Return the piece with its pages in hand."""
        if self.xml is not None:
            return self
        xml = b"".join(_decompress(self.path, _read(self.path, self.start, self.stop), self.start))
        first, end = _PAGE.search(xml), xml.rfind(b"</page>") + len(b"</page>")
        if first is None or end < first.start():
            raise BadInput(
                f"{self.path}: no whole page in the streams from byte {self.start} to "
                f"{self.stop}. The index may belong to another dump; remove or replace it."
            )
        _check_end(self.path, xml[end:], end, last=self.last)
        return replace(self, xml=xml[first.start() : end])


def _read(path: Path, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        left = path.stat().st_size - start if stop is None else stop - start
        while left > 0 and (block := file.read(min(_BLOCK, left))):
            left -= len(block)
            yield block


def _decompress(path: Path, blocks: Iterable[bytes], start: int = 0) -> Iterator[bytes]:
    """Yield decompressed blocks of at most 1 MiB; streams may follow each other."""
    place = start
    decompressor = bz2.BZ2Decompressor()
    begun = False
    for block in blocks:
        raw = block
        while raw or not (decompressor.needs_input or decompressor.eof):
            if decompressor.eof:
                decompressor = bz2.BZ2Decompressor()
            try:
                xml = decompressor.decompress(raw, _BLOCK)
            except OSError:
                raise BadInput(
                    f"{path}: corrupt bz2 between bytes {place} and {place + len(block)}. Download "
                    "it again and compare its checksum."
                ) from None
            begun = True
            raw = decompressor.unused_data
            if xml:
                yield xml
        place += len(block)
    if begun and not decompressor.eof:
        raise BadInput(f"{path}: the bz2 data end at byte {place} within a stream. {_CUT_OFF}")


def _check_end(path: Path, rest: bytes, place: int, *, last: bool) -> None:
    """Refuse what follows the last page unless it ends the export (or nothing, before the last)."""
    rest = rest.strip()
    if rest == (b"</mediawiki>" if last else b""):
        return
    title = re.search(rb"<title>([^<]*)", rest)
    where = f"within the page {title[1].decode(errors='replace')!r}" if title else "between pages"
    raise BadInput(
        f"{path}: no end of the export; the XML ends {where}, after byte {place} of the "
        f"decompressed text. {_CUT_OFF}"
    )


def _xml_blocks(path: Path) -> Iterator[tuple[bytes, float]]:
    """Yield blocks of XML with the share of the file read so far."""
    size = max(path.stat().st_size, 1)
    read = 0

    def counted() -> Iterator[bytes]:
        nonlocal read
        for block in _read(path):
            read += len(block)
            yield block

    for xml in _decompress(path, counted()) if path.suffix == ".bz2" else counted():
        yield xml, read / size


def index_of(path: Path) -> Path | None:
    """Return the index beside a multistream dump, None where there is none."""
    if not path.name.endswith("-multistream.xml.bz2"):
        return None
    index = path.with_name(path.name.removesuffix(".xml.bz2") + "-index.txt.bz2")
    return index if index.is_file() else None


def _offsets(path: Path, index: Path) -> list[int]:
    """Read where the streams of pages begin: the first field of ``offset:id:title`` lines."""
    offsets: list[int] = []
    rest = b""
    try:
        for block in _decompress(index, _read(index)):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                offset = int(line.partition(b":")[0])
                if not offsets or offset != offsets[-1]:
                    offsets.append(offset)
    except ValueError as error:
        raise (
            error
            if isinstance(error, BadInput)
            else BadInput(
                f"{index}: a line isn't 'offset:id:title'. Download it again, or remove it."
            )
        ) from None
    with path.open("rb") as file:
        for before, offset in zip([0, *offsets], offsets, strict=False):
            file.seek(offset)
            if offset <= before or file.read(3) != b"BZh":
                raise BadInput(
                    f"{index}: no bz2 stream begins at byte {offset} of {path.name}. It belongs to "
                    "another dump; download both again, or remove the index."
                )
    return offsets


def _pieces_by_index(path: Path, offsets: list[int], size: int) -> Iterator[Piece]:
    end = path.stat().st_size
    start = offsets[0]
    for stop in [*offsets[1:], end]:
        if stop - start >= size // _COMPRESSION or stop == end:
            yield Piece(path, start, stop, None, stop == end, stop / end)
            start = stop


def _pieces_in_order(path: Path, size: int) -> Iterator[Piece]:
    buffer = bytearray()
    start = searched = 0
    inside = False
    done = 0.0
    for block, done in _xml_blocks(path):
        buffer += block
        if not inside:
            first = _PAGE.search(buffer)
            if first is None:
                continue
            inside, start = True, first.start()
            del buffer[:start]
        while len(buffer) >= size:
            cut = buffer.rfind(b"</page>", 0, size)
            if cut < 0:
                cut = buffer.find(b"</page>", searched)
            if cut < 0:
                searched = max(0, len(buffer) - len(b"</page>"))
                if len(buffer) > _LARGEST_PAGE:
                    raise BadInput(
                        f"{path}: the page at byte {start} of the XML is larger than "
                        f"{_LARGEST_PAGE >> 20} MiB. This is no dump of current articles."
                    )
                break
            cut, searched = cut + len(b"</page>"), 0
            yield Piece(path, start, start + cut, bytes(buffer[:cut]), False, done)
            del buffer[:cut]
            start += cut
    cut = buffer.rfind(b"</page>")
    cut = cut + len(b"</page>") if cut >= 0 else 0
    _check_end(path, bytes(buffer[cut:]) if inside else b"</mediawiki>", start + cut, last=True)
    if cut:
        yield Piece(path, start, start + cut, bytes(buffer[:cut]), False, 1.0)


def read_pieces(path: Path, size: int = PIECE_BYTES) -> Iterator[Piece]:
    """Cut a dump into pieces of whole pages, in the order of the dump, never all in memory.

    Raises
    ------
    BadInput
        The compression or the end of the export is damaged, or there is no page.
    """
    index = index_of(path)
    if index is not None:
        offsets = _offsets(path, index)
        head = b"".join(_decompress(path, _read(path, 0, offsets[0]))) if offsets else b""
        if not offsets or _PAGE.search(head):
            raise BadInput(
                f"{index}: pages of {path.name} are missing in it. Replace or remove it."
            )
        pieces = _pieces_by_index(path, offsets, size)
    else:
        pieces = _pieces_in_order(path, size)
    empty = True
    for piece in pieces:
        empty = False
        yield piece
    if empty:
        raise BadInput(f"{path}: the dump holds no page. Give a pages-articles dump.")


def _head(path: Path) -> bytes:
    head = b""
    for block, _ in _xml_blocks(path):
        head += block
        first = _PAGE.search(head)
        if first is not None:
            return head[: first.start()] + b"</mediawiki>"
        if len(head) > _LARGEST_HEAD:
            break
    return head


def _language(path: Path, said: str) -> str:
    """Language of a dump: its file name wins over its header."""
    named = _WIKI_NAME.match(path.name)
    code = named[1].replace("_", "-") if named else ""
    code = code if code in LANGUAGES else said
    return "en" if code == "simple" else code


def read_site(path: Path, language: str | None = None) -> Site:
    """Read the header of a dump: language, namespaces, how titles begin.

    The language is the one given, else the one of a file name such as ``jawiki-...``, else the
    header's.

    Raises
    ------
    BadInput
        The file is missing, of another kind, empty, or has no header of a MediaWiki export.
    """
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file. Check the path.")
    if not path.name.endswith((".xml", ".xml.bz2")):
        raise BadInput(f"{path}: expected a dump named *.xml or *.xml.bz2. Unpack or rename it.")
    if not path.stat().st_size:
        raise BadInput(f"{path}: the file is empty. Download it again.")
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    head = _head(path)
    try:
        root = etree.fromstring(head, parser)
    except etree.XMLSyntaxError as error:
        raise BadInput(
            f"{path}: no header of a MediaWiki export at the start ({error.msg}). Give a "
            "pages-articles XML dump."
        ) from None
    if etree.QName(root).localname != "mediawiki":
        raise BadInput(
            f"{path}: the XML is <{etree.QName(root).localname}>, expected <mediawiki>. Give a "
            "pages-articles XML dump."
        )
    said = root.get("{http://www.w3.org/XML/1998/namespace}lang", "en")
    namespaces: dict[str, int] = {}
    case = root.findtext("{*}siteinfo/{*}case", "first-letter")
    for element in root.iterfind("{*}siteinfo/{*}namespaces/{*}namespace"):
        key = element.get("key", "")
        if not re.fullmatch(r"-?\d+", key):
            raise BadInput(f"{path}: the header has a namespace numbered {key!r}. Repair it.")
        if element.text:
            namespaces[element.text.replace("_", " ").lower()] = int(key)
        if key == "0":
            case = element.get("case", case)
    return Site(language or _language(path, said), case == "first-letter", namespaces)
