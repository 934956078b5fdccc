"""A MediaWiki export as a header and chunks of whole pages, streamed, plain or bz2.

``</page>`` can't stand inside a text (``<`` is escaped there), so whole pages are cut at that tag
without parsing; a real XML parser reads the chunks afterwards, in whatever process. The streams of
a ``-multistream.xml.bz2`` begin where its index says, hence they're decompressed in parallel too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from lxml import etree

from ssi_core.corpus import inputs
from ssi_core.datasets.wikipedia.stream import (
    CUT_OFF,
    END,
    PAGE,
    WholePages,
    decompress,
    is_utf16,
    read_file,
    read_xml,
)
from ssi_core.datasets.wikipedia.titles import Site
from ssi_core.text.wikinames import LANGUAGES
from ssi_core.types import BadInput

PIECE_BYTES = 16 << 20
"""XML bytes of a chunk: what a worker holds at a time, and what becomes a part on disk."""
_LARGEST_HEAD = 4 << 20
_HEAD_BLOCK = 1 << 14
_LARGEST_STREAMS = 512 << 20
_LARGEST_INDEX_LINE = 1 << 16
_COMPRESSION = 5
_WIKI_NAME = re.compile(r"([a-z][a-z_]*?)wiki(?:-|\.|_|$)")


@dataclass(frozen=True)
class Chunk:
    """Whole pages of a dump, in hand or still in the file.

    Attributes
    ----------
    path : Path
        The dump.
    start, stop : int
        Bytes of the XML where ``xml`` is in hand, of the file where it isn't.
    xml : bytes or None
        The pages, or None: streams ``start`` to ``stop`` of a multistream dump.
    last : bool
        The end of the dump is to be in these streams.
    done : float
        Share of the dump that is read after this chunk.
    left_out : int
        Pages larger than `stream.LARGEST_PAGE` that stood here; known with ``xml`` in hand.
    """

    path: Path
    start: int
    stop: int
    xml: bytes | None
    last: bool
    done: float
    left_out: int = 0

    def load(self) -> Chunk:
        """Return the chunk with its pages in hand."""
        if self.xml is not None:
            return self
        pages, runs, size = WholePages(), [], 0
        streams = read_file(self.path, self.start, self.stop)
        for _, run in pages.read(decompress(self.path, streams, self.start)):
            runs.append(run)
            size += len(run)
            if size > _LARGEST_STREAMS:
                raise BadInput(
                    f"{self.path}: the streams from byte {self.start} to {self.stop} hold more "
                    f"than {_LARGEST_STREAMS >> 20} MiB. Remove the index beside the dump to have "
                    "it read in order."
                )
        if not runs and not pages.left_out:
            raise BadInput(
                f"{self.path}: no whole page in the streams from byte {self.start} to "
                f"{self.stop}. The index may belong to another dump; remove or replace it."
            )
        _check_end(self.path, pages.rest, pages.offset, last=self.last)
        return replace(self, xml=b"".join(runs), left_out=pages.left_out)


def _check_end(path: Path, rest: bytes, offset: int, *, last: bool) -> None:
    """Refuse what follows the last page unless it ends the export (or nothing, before the last)."""
    rest = rest.strip()
    if rest == (b"</mediawiki>" if last else b""):
        return
    title = re.search(rb"<title>([^<]*)", rest)
    where = f"within the page {title[1].decode(errors='replace')!r}" if title else "between pages"
    raise BadInput(
        f"{path}: no end of the export; the XML ends {where}, after byte {offset} of the "
        f"decompressed text. {CUT_OFF}"
    )


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
        for block in decompress(index, read_file(index)):
            *lines, rest = (rest + block).split(b"\n")
            if len(rest) > _LARGEST_INDEX_LINE:
                raise ValueError("a line without an end")
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
    with inputs.open_raw(path) as file:
        for before, offset in zip([0, *offsets], offsets, strict=False):
            file.seek(offset)
            if offset <= before or file.read(3) != b"BZh":
                raise BadInput(
                    f"{index}: no bz2 stream begins at byte {offset} of {path.name}. It belongs to "
                    "another dump; download both again, or remove the index."
                )
    return offsets


def _pieces_by_index(path: Path, offsets: list[int], size: int) -> Iterator[Chunk]:
    end = path.stat().st_size
    start = offsets[0]
    for stop in [*offsets[1:], end]:
        if stop - start >= size // _COMPRESSION or stop == end:
            yield Chunk(path, start, stop, None, stop == end, stop / end)
            start = stop


def _pieces_in_order(path: Path, size: int) -> Iterator[Chunk]:
    pages, buffer = WholePages(), bytearray()
    start = counted = 0
    done = 0.0

    def blocks() -> Iterator[bytes]:
        nonlocal done
        for xml, done in read_xml(path):  # noqa: B007
            yield xml

    def chunk(length: int) -> Chunk:
        nonlocal start, counted
        with memoryview(buffer) as whole:  # a slice of a bytearray would be a copy more
            xml, left_out = bytes(whole[:length]), pages.left_out - counted
        del buffer[:length]
        start, counted = start + length, pages.left_out
        return Chunk(path, start - length, start, xml, False, done, left_out)

    for offset, run in pages.read(blocks()):
        if buffer and offset > start + len(buffer):
            # A page between was left out; the places in a chunk are those in the XML.
            yield chunk(len(buffer))
        start = start if buffer else offset
        buffer += run
        while len(buffer) >= size:
            cut = buffer.rfind(END, 0, size)
            cut = cut if cut >= 0 else buffer.find(END)
            yield chunk(cut + len(END))
    if pages.begun:
        _check_end(path, pages.rest, pages.offset, last=True)
    if buffer or pages.left_out > counted:
        yield chunk(len(buffer))


def read_pieces(path: Path, size: int = PIECE_BYTES) -> Iterator[Chunk]:
    """Cut a dump into chunks of whole pages, in the order of the dump, never all in memory.

    Raises
    ------
    BadInput
        The compression or the end of the export is damaged, or there is no page.
    """
    index = index_of(path)
    offsets = _offsets(path, index) if index is not None else []
    head = _head_stream(path, offsets[0]) if offsets else b""
    if index is None or is_utf16(head):
        # Streams of UTF-16 can't be read one by one: only the first says so.
        chunks = _pieces_in_order(path, size)
    elif not offsets or PAGE.search(head):
        raise BadInput(f"{index}: pages of {path.name} are missing in it. Replace or remove it.")
    else:
        chunks = _pieces_by_index(path, offsets, size)
    empty = True
    for chunk in chunks:
        empty = False
        yield chunk
    if empty:
        raise BadInput(f"{path}: the dump holds no page. Give a pages-articles dump.")


def _head_stream(path: Path, stop: int) -> bytes:
    """Return what precedes the first stream of pages of a multistream dump."""
    head = b""
    for block in decompress(path, read_file(path, 0, stop)):
        head += block
        if len(head) > _LARGEST_HEAD:
            break
    return head


def _head(path: Path) -> bytes:
    head = b""
    # Little at a time: of a bz2 block only what is asked for is put in order.
    for block, _ in read_xml(path, _HEAD_BLOCK):
        head += block
        first = PAGE.search(head)
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
        next(read_xml(path), None)  # a damaged block is told from its whole
        raise BadInput(
            f"{path}: no header of a MediaWiki export at the start ({error.msg}). Give a "
            "pages-articles XML dump."
        ) from None
    if etree.QName(root).localname != "mediawiki":
        raise BadInput(
            f"{path}: the XML is <{etree.QName(root).localname}>, expected <mediawiki>. Give a "
            "pages-articles XML dump."
        )
    code = root.get("{http://www.w3.org/XML/1998/namespace}lang", "en")
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
    base = _base(root.findtext("{*}siteinfo/{*}base", ""))
    return Site(language or _language(path, code), case == "first-letter", namespaces, base)


def _base(main_page: str) -> str:
    """Return what precedes a title in an address, given that of the main page."""
    base, slash, title = main_page.strip().rpartition("/")
    return base + slash if base.startswith(("https://", "http://")) and "?" not in title else ""
