"""A page of HTML: its title, words, headings and links, in one walk over its tree."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lxml import etree, html

_NO_TEXT = frozenset({
    "head", "script", "style", "template", "noscript", "nav", "header", "footer", "aside", "form",
})  # fmt: skip
_NO_ROLE = frozenset({"navigation", "search", "banner", "contentinfo", "complementary"})
_PERMALINK = frozenset({"¶", "#", "§", "🔗"})
"""Words of a link by which a generator leads to a heading itself."""
_HOME = re.compile(r"[./]+|[./]*index\.html?")
_SPHINX = re.compile(r"[^-—]+ documentation")
_BLOCKS = frozenset({
    "address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure", "h1",
    "h2", "h3", "h4", "h5", "h6", "hr", "li", "main", "ol", "p", "pre", "section", "table", "td",
    "th", "tr", "ul",
})  # fmt: skip
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SMALL = 1 << 15
"""Bytes of a page whose tags need not be looked at."""
_ATTRIBUTES = 1000
"""Attributes of a tag; the parser compares each with all before it."""
_TAG = re.compile(rb"<[A-Za-z]")
_ATTRIBUTE = re.compile(
    rb"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?"""
)


@dataclass(frozen=True)
class Page:
    """A page: its title, its words, and the target and the words of its links as written.

    Attributes
    ----------
    headings : str
        Those of its parts, a line each, without the one that is the title.
    aliases : tuple of str
        Further paths that lead to it, and after them its name for ``xref:``, if it has one, behind
        that scheme.
    dropped : int
        Keys of the front matter that were not read.
    cut : bool
        It is nested deeper than the parser goes, which leaves out the rest of the page.
    """

    title: str
    text: str
    links: tuple[tuple[str, str], ...]
    timestamp: str = ""
    url: str = ""
    headings: str = ""
    aliases: tuple[str, ...] = ()
    dropped: int = 0
    cut: bool = False


def read_html(data: bytes, name: str, encoding: str | None = None, title: str = "") -> Page:
    """Read a page.

    Parameters
    ----------
    data : bytes
        The page.
    name : str
        Title of a page that has none.
    encoding : str, optional
        By default UTF-8 where the page is that, else what it declares.
    title : str
        Title that comes before its own.

    Returns
    -------
    Page
        Without a text where it cannot be parsed, or a tag has too many attributes.
    """
    parser = html.HTMLParser(encoding=encoding or _encoding(data), remove_comments=True)
    try:
        if len(data) > _SMALL and _has_crowded_tag(data.replace(b"\0", b"")):
            raise ValueError("a tag has too many attributes")
        root = html.document_fromstring(data, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return Page(name, "", ())
    named = " ".join(title.split())
    declared = root.findtext(".//title") or ""
    url = next(iter(root.xpath("//link[@rel='canonical']/@href")), "").strip()
    body = next(iter(root.xpath("//main | //article | //*[@role='main']")), None)
    walk = _Walk(root if body is None else body)
    if not named:
        declared = " ".join(declared.split())
        inside = "" if body is None else _heading(body)
        named = inside or _outside(declared, root) or _beginning(walk) or name
    headings = (words for words in walk.headings if words and words != named)
    cut = any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in parser.error_log)
    links = tuple(walk.links)
    return Page(named, walk.text, links, url=url, headings="\n".join(headings), cut=cut)


def _heading(element: html.HtmlElement) -> str:
    heading = next(iter(element.xpath(".//h1")), None)
    return "" if heading is None else " ".join(_Walk(heading).text.split())


def _beginning(walk: _Walk) -> str:
    """Return the first heading, of any level, where no text stands before it."""
    first = walk.text.partition("\n")[0]
    return first if walk.headings[:1] == [first] else ""


def _outside(declared: str, root: html.HtmlElement) -> str:
    """Return a heading beside the text; the page's title where there is none but the site's name.

    What leads to the beginning of a site may be its name, too.
    """
    heading = _heading(root)
    home = (a for a in root.iter("a") if _HOME.fullmatch(a.get("href", "").strip()))
    names = {heading, *(" ".join(a.text_content().split()) for a in home)}
    page, site = _parted(declared, names)
    return page if heading in ("", site) else heading


def _parted(declared: str, names: Collection[str]) -> tuple[str, str]:
    """Return a title without the name of its site behind it, and that name.

    >>> _parted("Ownership - a word - The Book", {"The Book"}), _parted("T - U", {"Site"})
    (('Ownership - a word', 'The Book'), ('T - U', ''))
    """
    for dash in re.finditer(r" [-|–—·] ", declared):
        if (site := declared[dash.end() :]) in names or _SPHINX.fullmatch(site):
            return declared[: dash.start()], site
    return declared, ""


def _encoding(data: bytes) -> str | None:
    """Return UTF-8 where the bytes are that; else the parser takes what the page declares."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _has_crowded_tag(data: bytes) -> bool:
    position = 0
    while tag := _TAG.search(data, position):
        position, attributes = tag.end(), 0
        while attribute := _ATTRIBUTE.match(data, position):
            position, attributes = attribute.end(), attributes + 1
            if attributes > _ATTRIBUTES:
                return True
    return False


class _Walk:
    """The text of an element, a line for each block in it, its headings and its links.

    A link and a heading end where the next one of their kind begins, as they do in a browser.
    """

    def __init__(self, element: html.HtmlElement) -> None:
        self.links: list[tuple[str, str]] = []
        self.headings: list[str] = []
        self._parts: list[str] = []
        self._link: tuple[html.HtmlElement, int] | None = None
        self._heading: tuple[html.HtmlElement, int] | None = None
        walker = etree.iterwalk(element, events=("start", "end"))
        for event, inner in walker:
            if inner is not element and _is_aside(inner):
                if event == "start":
                    walker.skip_subtree()
                else:
                    self._parts.append(inner.tail or "")
            elif event == "start":
                self._begin(inner)
            else:
                self._end(inner)
                if inner is not element:
                    self._parts.append(inner.tail or "")
        self.text = _lines(self._parts)

    def _begin(self, inner: html.HtmlElement) -> None:
        if inner.tag in _HEADINGS:
            self._end_heading()
            self._heading = inner, len(self._parts)
        elif inner.tag == "a" and inner.get("href", "").strip():
            self._end_link()
            self._link = inner, len(self._parts)
        if inner.tag in _BLOCKS:
            self._parts.append("\n")
        self._parts.append(inner.text or "")

    def _end(self, inner: html.HtmlElement) -> None:
        if inner.tag in _BLOCKS:
            self._parts.append("\n")
        if self._heading is not None and self._heading[0] is inner:
            self._end_heading()
        if self._link is not None and self._link[0] is inner:
            self._end_link()

    def _end_heading(self) -> None:
        if self._heading is not None:
            words = " ".join("".join(self._parts[self._heading[1] :]).split())
            self.headings.append(words)
            self._heading = None

    def _end_link(self) -> None:
        if self._link is not None:
            link, start = self._link
            self.links.append((link.get("href"), _lines(self._parts[start:])))
            self._link = None


def _is_aside(inner: html.HtmlElement) -> bool:
    """Tell whether an element is no part of the text, such as navigation, or a link to itself."""
    if inner.tag == "a" and inner.get("href", "").startswith("#"):
        return not len(inner) and (inner.text or "").strip() in _PERMALINK
    return inner.tag in _NO_TEXT or inner.get("role") in _NO_ROLE


def _lines(parts: Sequence[str]) -> str:
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)
