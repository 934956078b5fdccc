"""Pages out of a chunk of a dump, with a real XML parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from lxml import etree

from ssi_core.datasets.wikipedia.dump import Chunk
from ssi_core.types import BadInput

_TAGS = ("page", "title", "ns", "id", "redirect", "revision", "timestamp", "text")


class Page(NamedTuple):
    """A page with its newest revision in the dump.

    ``redirect`` is the raw title that it leads to, None where it is no redirect.
    """

    id: int
    namespace: int
    title: str
    redirect: str | None
    revision: int | None
    timestamp: datetime | None
    text: str


def _parse(xml: bytes) -> etree._Element:
    # Without the root's xmlns the names are the same for every version of the schema.
    parser = etree.XMLParser(
        huge_tree=True, resolve_entities=False, no_network=True, remove_comments=True
    )
    return etree.fromstring(b"".join((b"<mediawiki>", xml, b"</mediawiki>")), parser)


def _locate(chunk: Chunk, xml: bytes, error: Exception) -> BadInput:
    """Name the first page of a chunk that doesn't parse by itself."""
    offset, title, reason = 0, "", str(error)
    for page in xml.split(b"</page>")[:-1]:
        try:
            _parse(page + b"</page>")
        except etree.XMLSyntaxError as found:
            named = re.search(rb"<title>([^<]*)", page)
            title = named[1].decode(errors="replace") if named else ""
            reason = found.msg or reason
            break
        offset += len(page) + len(b"</page>")
    return BadInput(
        f"{chunk.path}: the page {title!r} at byte {chunk.start + offset} isn't well-formed XML: "
        f"{reason}. Download the dump again, or remove that page."
    )


def _number(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"the number {text} is too large")
    return number


_Fields = dict[str, str | None]


def _fields(root: etree._Element) -> Iterator[tuple[etree._Element, _Fields, _Fields]]:
    """Yield the element of each page, the texts of its own fields and of those of its revision.

    One walk over the tree costs less than one for each page and revision; the last revision wins.
    """
    page = revision = None
    of_page: _Fields = {}
    of_revision: _Fields = {}
    for element in root.iter(*_TAGS):
        parent, tag = element.getparent(), element.tag
        if parent is revision:
            of_revision[tag] = element.text
        elif parent is page:
            if tag == "revision":
                revision, of_revision = element, {}
            else:
                of_page[tag] = element.get("title", "") if tag == "redirect" else element.text
        elif parent is root and tag == "page":
            if page is not None:
                yield page, of_page, of_revision
            page, of_page, revision, of_revision = element, {}, None, {}
    if page is not None:
        yield page, of_page, of_revision


def _page(of_page: _Fields, revision: _Fields) -> Page:
    title = of_page.get("title")
    if not title:
        raise ValueError("it has no title")
    number, time = revision.get("id"), revision.get("timestamp")
    return Page(
        _number(of_page.get("id") or ""),
        _number(of_page.get("ns") or "0"),
        title,
        of_page.get("redirect"),
        _number(number) if number else None,
        datetime.fromisoformat(time) if time else None,
        revision.get("text") or "",
    )


def read_pages(chunk: Chunk) -> Iterator[Page]:
    """Yield the pages of a chunk, in order.

    Raises
    ------
    BadInput
        A page isn't well-formed, isn't valid UTF-8, or has no title or number.
    """
    chunk = chunk.load()
    xml = chunk.xml or b""
    try:
        root = _parse(xml)
    except etree.XMLSyntaxError as error:
        raise _locate(chunk, xml, error) from None
    for element, of_page, of_revision in _fields(root):
        try:
            page = _page(of_page, of_revision)
        except ValueError as error:
            raise BadInput(
                f"{chunk.path}: a page after byte {chunk.start}, titled "
                f"{element.findtext('title')!r}, can't be read: {error}. Repair the dump."
            ) from None
        yield page
        # A read page is forgotten; the tree of a chunk would hold every text a second time.
        element.clear()
