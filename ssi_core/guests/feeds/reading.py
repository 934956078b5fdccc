"""Feeds in Atom and RSS: a feed with its entries, read by feedparser from files alone.

A file is checked before it is parsed: one that declares entities is refused, since an entity may
grow without bound or name another file. No address is fetched.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import polars as pl
from lxml import etree, html

from ssi_core.corpus import inputs
from ssi_core.corpus.tree import files_below
from ssi_core.corpus.user_texts import write_own
from ssi_core.strict import cut
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.guests.feeds.source import Feeds
    from ssi_core.store import Building

SUFFIXES = (".xml", ".atom", ".rss")
LARGEST = 32 << 20
"""Bytes of a feed; a larger one is left out and counted."""

_MISSING = "Feeds are read by feedparser: pip install 'ssi[feeds]'."
_ROWS = 200
_log = logging.getLogger(__name__)


class Malformed(BadInput):
    """A file is no well-formed XML, or no feed."""


class DeclaresEntity(BadInput):
    """A file declares an entity."""


@dataclass(frozen=True)
class Entry:
    """An entry of a feed.

    Attributes
    ----------
    id : str
        Its id, else its address; perhaps empty.
    title, description : str
        Plain words; the description is the summary, else the content.
    url : str
        Its address; perhaps empty.
    timestamp : str
        When it was published, else updated, in ISO 8601; perhaps empty.
    links : tuple
        Address and words of each link in the description.
    """

    id: str
    title: str
    description: str
    url: str = ""
    timestamp: str = ""
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Feed:
    """A feed.

    Attributes
    ----------
    name : str
        Path of its file in the folder.
    title, description : str
        Plain words.
    topics : tuple of str
        Its categories.
    entries : tuple of Entry
        The newest first where all have a time, else as they are in the file.
    """

    name: str
    title: str
    description: str
    topics: tuple[str, ...]
    entries: tuple[Entry, ...]


def read_feed(path: Path, name: str = "") -> Feed:
    """Read a feed in Atom or RSS.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Name of the feed; by default that of the file.

    Raises
    ------
    BadInput
        feedparser is not installed, or the file is too large.
    DeclaresEntity
        It declares an entity.
    Malformed
        It is no well-formed XML, or no feed.
    """
    data = inputs.read_input(path, "Fetch the feed again.", most=LARGEST)
    _refuse_entities(data, path)
    parse = _feedparser().parse
    try:
        parsed = parse(BytesIO(data), sanitize_html=False, resolve_relative_uris=False)
    except Exception as error:
        raise Malformed(f"{path}: {type(error).__name__}: {error}. Fetch it again.") from error
    if not parsed.version:
        raise Malformed(f"{path}: it is neither Atom nor RSS. Give files of feeds.")
    head, plain = parsed.feed, parsed.version.startswith("atom")
    topics = [str(tag.get("term") or tag.get("label") or "") for tag in head.get("tags", ())]
    entries = tuple(_entry(one, plain) for one in parsed.entries)
    if all(entry.timestamp for entry in entries):
        entries = tuple(sorted(entries, key=lambda one: one.timestamp, reverse=True))
    return Feed(
        name or path.name,
        _words(head, "title", plain),
        _words(head, "subtitle", plain),
        tuple(dict.fromkeys(filter(None, map(str.strip, topics)))),
        entries,
    )


def _feedparser() -> Any:
    try:
        import feedparser
    except ModuleNotFoundError:
        raise BadInput(_MISSING) from None
    return feedparser


def _refuse_entities(data: bytes, path: Path) -> None:
    """Refuse a file that declares entities, and one that is no XML, before anything is parsed."""
    parser = expat.ParserCreate()

    def declared(name: str, *rest: object) -> None:
        raise DeclaresEntity(
            f"{path}: line {parser.CurrentLineNumber}: it declares the entity {cut(name)!r}, which "
            "a feed does not need and an attack does. Remove the file, or the declaration."
        )

    parser.EntityDeclHandler = declared
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise Malformed(f"{path}: it is no well-formed XML ({error}). Fetch it again.") from None


def _words(part: Any, name: str, plain: bool) -> str:
    """Return the words of an element; in Atom its type says whether it is HTML."""
    text, kind = str(part.get(name, "")), part.get(f"{name}_detail", {}).get("type")
    return " ".join(text.split()) if plain and kind == "text/plain" else words_of(text)


def _entry(one: Any, plain: bool) -> Entry:
    described = one.get("summary") or next(
        (part.get("value", "") for part in one.get("content", ())), ""
    )
    moment = one.get("published_parsed") or one.get("updated_parsed")
    stamp = "" if moment is None else "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format(*moment[:6])
    typed = plain and one.get("summary_detail", {}).get("type") == "text/plain"
    root = None if typed else _fragment(described)
    described_words = " ".join(described.split()) if typed else words_of(described)
    links = () if root is None else tuple(
        (str(link.get("href")), " ".join(str(link.text_content()).split()))
        for link in root.xpath(".//a[@href]")
    )  # fmt: skip
    url = str(one.get("link", ""))
    return Entry(
        str(one.get("id", "") or url), _words(one, "title", plain), described_words, url,
        stamp, links,
    )  # fmt: skip


def words_of(text: str) -> str:
    """Return the words of a text that may be HTML, with one blank between them.

    >>> words_of("<p>Ships &amp; <b>sails</b></p>")
    'Ships & sails'
    """
    root = _fragment(text)
    return " ".join((text if root is None else " ".join(root.itertext())).split())


def _fragment(text: str) -> Any:
    """Return the root of HTML; None of a text without a tag or a character reference."""
    if "<" not in text and "&" not in text:
        return None
    try:
        root = html.fragment_fromstring(text, create_parent="div")
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None
    for element in root.xpath(".//script | .//style"):
        element.drop_tree()
    return root


def read_feeds(
    directory: Path, skipped: Counter[str], progress: Progress | None = None
) -> Iterator[Feed]:
    """Yield the feeds of a folder and of the folders in it, by their paths.

    A file that is no feed, or declares entities, is left out, named in the log, and counted in
    ``skipped``.

    Raises
    ------
    BadInput
        There is no such folder, or no feed in it.
    """
    names = feeds_in(directory, skipped)
    read = 0
    first: BadInput | None = None
    for number, name in enumerate(names):
        if progress is not None and number % 20 == 0:
            progress(number / len(names), f"{number:,} of {len(names):,} feeds")
        try:
            feed = read_feed(directory / name, name)
        except (Malformed, DeclaresEntity) as error:
            entity = isinstance(error, DeclaresEntity)
            skipped["file_with_entities" if entity else "file_no_feed"] += 1
            _log.warning("left out: %s", error)
            first = first or error
            continue
        read += 1
        yield feed
    if not read:
        raise BadInput(
            f"{directory}: none of its {len(names)} files is a feed in Atom or RSS. The first: "
            f"{first}"
        )


def feeds_in(directory: Path, skipped: Counter[str]) -> list[str]:
    """List the paths of the files in a folder that may be feeds, and count the others."""
    inputs.require_folder(directory)
    names = files_below(directory, SUFFIXES, LARGEST, skipped)
    if not names:
        raise BadInput(
            f"{directory}: no feed is in it. Feeds are files that end with {', '.join(SUFFIXES)}."
        )
    return names


def build(building: Building, source: Feeds, progress: Progress | None) -> None:
    """Write a collection of the entries of feeds.

    A document is an entry: its title, and its description for the text. Its labels are the title of
    its feed (``feed``) and the first category of the feed (``topic``). A link leads from an entry
    to the entry whose address it names; its words are an anchor.

    Raises
    ------
    BadInput
        There is no such folder, no feed in it, or no entry with a text.
    """
    (directory,) = source.paths
    skipped: Counter[str] = Counter()
    count = 0
    pages: dict[str, str] = {}
    hrefs: list[tuple[str, str, str]] = []

    def documents() -> Iterator[pl.DataFrame]:
        nonlocal count
        rows: list[tuple[str | None, ...]] = []
        for feed in read_feeds(directory, skipped, progress):
            count += 1
            topic = next(iter(feed.topics), None)
            for position, entry in enumerate(feed.entries):
                identifier = entry.id or f"{feed.name}#{position}"
                text = entry.description or entry.title
                rows.append((
                    identifier, entry.title, text, entry.timestamp or None, entry.url or None,
                    feed.title or feed.name, topic,
                ))  # fmt: skip
                if entry.url:
                    pages.setdefault(entry.url, identifier)
                hrefs.extend((identifier, href, words) for href, words in entry.links)
            if len(rows) >= _ROWS:
                yield _frame(rows)
                rows = []
        yield _frame(rows)

    def links() -> Iterator[pl.DataFrame]:
        known = [(source, pages[href], words) for source, href, words in hrefs if href in pages]
        skipped["link_to_no_entry"] = len(hrefs) - len(known)
        yield pl.DataFrame(known, schema=_LINKS, orient="row")

    write_own(
        building, documents(), links(), where=directory, language=source.language,
        labels=("feed", "topic"),
    )  # fmt: skip
    building.counts["feeds"] = count
    building.counts["links_found"] = building.counts.get("links_found", 0)
    building.counts["links_found"] += skipped["link_to_no_entry"]
    building.skipped.update({name: n for name, n in sorted(skipped.items()) if n})


_SCHEMA = dict.fromkeys(("id", "title", "text", "timestamp", "url", "feed", "topic"), pl.String)
_LINKS = dict.fromkeys(("source", "target", "text"), pl.String)


def _frame(rows: Sequence[tuple[str | None, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")
