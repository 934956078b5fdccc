"""Feeds made of a collection: a document with its links becomes a file in Atom or RSS.

The title of a feed is that of the document, its description the first paragraph, its categories the
document's topics. Its entries are the documents that share a topic with it and are linked to it, in
either direction, with their titles and first paragraphs: those whose titles come first in its text
are the newest. Times are made up, a day apart. Such feeds are no blogs: they have the form of
feeds, and the content of the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np

from ssi_core import files
from ssi_core.collection import INGEST, LINK, Collection
from ssi_core.corpus import inputs
from ssi_core.guests.feeds.reading import Entry, Feed
from ssi_core.types import BadInput, Progress, Refused

ATOM = "http://www.w3.org/2005/Atom"
_NEWEST = datetime(2024, 1, 1, tzinfo=UTC)
_PARAGRAPH, _LONGEST = 60, 1000
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ROW = "Expected: the id of a document, a tab, and its topic."


@dataclass(frozen=True)
class Drawn:
    """Topics, and the documents of each that become feeds."""

    topics: dict[str, tuple[str, ...]]
    feeds: tuple[str, ...]


def read_topics(path: Path, known: frozenset[str]) -> tuple[dict[str, list[str]], int]:
    """Read the topics of documents: a tab between the id and the topic; lines with # are comments.

    A topic of levels, ``subject.History.British_History``, is the last of them, with blanks for
    ``_``.

    Parameters
    ----------
    path : Path
        The file, perhaps packed by gzip.
    known : set of str
        Ids of the documents.

    Returns
    -------
    topics : dict
        Topic -> ids, each once.
    unknown : int
        Rows whose document is not there.

    Raises
    ------
    BadInput
        The file is missing or damaged, or a line has no tab.
    """
    topics: dict[str, dict[str, None]] = {}
    unknown = 0
    for number, text in enumerate(inputs.text_lines(path, "Check the file."), 1):
        line = text.removeprefix("\ufeff") if number == 1 else text
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.rstrip("\r\n").split("\t")
        if len(parts) != 2:
            raise BadInput(f"{path}: line {number} has {len(parts)} columns. {_ROW}")
        topic = parts[1].rsplit(".", 1)[-1].replace("_", " ").strip()
        if parts[0] in known and topic:
            topics.setdefault(topic, {})[parts[0]] = None
        else:
            unknown += 1
    return {topic: list(ids) for topic, ids in sorted(topics.items())}, unknown


def draw(topics: dict[str, list[str]], least: int, most: int, seed: int) -> Drawn:
    """Draw documents for each topic that has enough of them; see `Drawn`.

    Raises
    ------
    BadInput
        No topic has so many documents.
    """
    random = np.random.default_rng(seed)
    chosen: dict[str, None] = {}
    kept = {topic: ids for topic, ids in topics.items() if len(ids) >= least}
    if not kept:
        raise BadInput(f"no topic has {least} documents. Use a smaller --least.")
    for ids in kept.values():
        positions = random.permutation(len(ids))[:most]
        chosen.update(dict.fromkeys(ids[position] for position in sorted(positions)))
    return Drawn({topic: tuple(ids) for topic, ids in kept.items()}, tuple(sorted(chosen)))


def feeds_of(opened: Collection, drawn: Drawn, entries: int) -> Iterator[Feed]:
    """Yield the feed of each drawn document.

    Parameters
    ----------
    opened : Collection
        Documents with links.
    drawn : Drawn
        What `draw` returned.
    entries : int
        Most entries of a feed.
    """
    parts = opened.parts("documents")
    texts = files.read_strings(parts, "id", "title", "text", remedy=INGEST)
    title = dict(zip(texts["id"], texts["title"], strict=True))
    text = dict(zip(texts["id"], texts["text"], strict=True))
    topics: dict[str, list[str]] = {}
    for topic, ids in drawn.topics.items():
        for one in ids:
            topics.setdefault(one, []).append(topic)
    chosen, targets = set(drawn.feeds), dict[str, set[str]]()
    for ends in opened.links.select("source", "target").collect().iter_rows():
        for one, other in (ends, ends[::-1]):
            if one in chosen and not set(topics[one]).isdisjoint(topics.get(other, ())):
                targets.setdefault(one, set()).add(other)
    for one in drawn.feeds:
        words = text[one].lower()
        order = sorted(
            targets.get(one, ()),
            key=lambda target: (_position(words, title[target].lower()), title[target]),
        )
        yield Feed(
            one,
            title[one],
            first_paragraph(text[one], title[one]),
            tuple(topics[one]),
            tuple(
                Entry(
                    target,
                    title[target],
                    first_paragraph(text[target], title[target]),
                    timestamp=(_NEWEST - timedelta(days=position)).isoformat(),
                )
                for position, target in enumerate(order[:entries])
            ),
        )


def _position(text: str, title: str) -> int:
    position = text.find(title)
    return position if position >= 0 else len(text)


def first_paragraph(text: str, title: str) -> str:
    """Return the first paragraph that says something, of at most a thousand characters."""
    paragraphs = (" ".join(part.split()) for part in text.split("\n\n"))
    some = [part for part in paragraphs if part and part != title]
    long = next((part for part in some if len(part) >= _PARAGRAPH), some[0] if some else "")
    return long[:_LONGEST]


def write_feeds(
    opened: Collection, drawn: Drawn, out: Path, *, entries: int, progress: Progress | None = None
) -> dict[str, int]:
    """Write the feeds of drawn documents, in Atom and in RSS by turns; return counts.

    Raises
    ------
    BadInput
        The collection has no links.
    Refused
        The folder exists and holds files.
    """
    if LINK not in opened.relations:
        raise BadInput(f"{opened.path}: it has no links, of which entries are made.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Refused(f"{out} holds files already; it is left alone. Name another folder.")
    counts = {"feeds": 0, "entries": 0, "topics": len(drawn.topics), "feeds_without_entry": 0}
    with files.replacing(out, "00000.atom", "feeds") as new:
        new.mkdir()
        for number, feed in enumerate(feeds_of(opened, drawn, entries)):
            if progress is not None and number % 50 == 0:
                progress(number / len(drawn.feeds), f"{number:,} of {len(drawn.feeds):,} feeds")
            write, suffix = (atom, "atom") if number % 2 == 0 else (rss, "rss")
            (new / f"{number:05d}.{suffix}").write_bytes(write(feed))
            counts["feeds"] += 1
            counts["entries"] += len(feed.entries)
            counts["feeds_without_entry"] += not feed.entries
    return counts


def atom(feed: Feed) -> bytes:
    """Return a feed as Atom 1.0."""
    ElementTree.register_namespace("", ATOM)
    root = ElementTree.Element(f"{{{ATOM}}}feed")

    def add(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> None:
        element = ElementTree.SubElement(parent, f"{{{ATOM}}}{tag}", attributes)
        element.text = _legal(text) or None

    add(root, "id", _address(feed.name))
    add(root, "title", feed.title)
    add(root, "subtitle", feed.description)
    add(root, "updated", _NEWEST.isoformat())
    for topic in feed.topics:
        add(root, "category", term=_legal(topic))
    for entry in feed.entries:
        inner = ElementTree.SubElement(root, f"{{{ATOM}}}entry")
        add(inner, "id", _address(f"{feed.name}#{entry.id}"))
        add(inner, "title", entry.title)
        add(inner, "summary", entry.description)
        add(inner, "updated", entry.timestamp)
    return _bytes(root)


def rss(feed: Feed) -> bytes:
    """Return a feed as RSS 2.0."""
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")

    def add(parent: ElementTree.Element, tag: str, text: str, **attributes: str) -> None:
        ElementTree.SubElement(parent, tag, attributes).text = _legal(text)

    add(channel, "title", _escaped(feed.title))
    add(channel, "link", _address(feed.name))
    add(channel, "description", _escaped(feed.description))
    for topic in feed.topics:
        add(channel, "category", topic)
    for entry in feed.entries:
        item = ElementTree.SubElement(channel, "item")
        add(item, "guid", _address(f"{feed.name}#{entry.id}"), isPermaLink="false")
        add(item, "title", _escaped(entry.title))
        add(item, "description", _escaped(entry.description))
        add(item, "pubDate", format_datetime(datetime.fromisoformat(entry.timestamp)))
    return _bytes(root)


def _address(name: str) -> str:
    return f"urn:ssi:{quote(name, safe='#%')}"


def _escaped(text: str) -> str:
    """Return a text as the HTML that a description of RSS is."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _legal(text: str) -> str:
    """Return a text without the characters that XML does not allow."""
    return _ILLEGAL.sub("", text)


def _bytes(root: ElementTree.Element) -> bytes:
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def known_ids(opened: Collection) -> frozenset[str]:
    """Return the ids of the documents of a collection."""
    names: Sequence[str] = opened.names("documents")["id"].to_list()
    return frozenset(names)
