"""A folder of pages: Markdown, HTML and plain text, linked to each other by their hrefs."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import polars as pl
import yaml  # type: ignore[import-untyped]
from lxml import etree, html
from markdown_it import MarkdownIt

from ssi_core import collection, store
from ssi_core.corpus import inputs
from ssi_core.corpus.own import write_own
from ssi_core.corpus.since import Earlier, Kept, digest_of, open_earlier, told
from ssi_core.store import Artefact, Building
from ssi_core.types import BadInput, Progress

MARKDOWN = (".md", ".markdown")
HTML = (".html", ".htm", ".xhtml")
PLAIN = (".txt",)
SUFFIXES = (*MARKDOWN, *HTML, *PLAIN)
"""Files that are pages; all others are left out and counted by their suffix."""
LARGEST = 32 << 20
"""Bytes of a page; a larger one is left out and counted."""

_INDEX = ("index", "readme", "_index")
"""Pages that stand for their folder."""
_NO_TEXT = ("script", "style", "template", "noscript", "nav", "header", "footer", "aside", "form")
_BLOCKS = frozenset({
    "address", "article", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure", "h1",
    "h2", "h3", "h4", "h5", "h6", "hr", "li", "main", "ol", "p", "pre", "section", "table", "td",
    "th", "tr", "ul",
})  # fmt: skip
_WIKI_LINK = re.compile(r"(?<!!)\[\[([^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?\r?\n)---[ \t]*\r?\n", re.DOTALL)
_ROWS = 500


@dataclass(frozen=True)
class Page:
    """A page: its title, its words, and the target and the words of its links as written."""

    title: str
    text: str
    links: tuple[tuple[str, str], ...]
    timestamp: str = ""
    url: str = ""


def ingest_folder(
    directory: Path,
    out: Path | None = None,
    *,
    language: str | None = None,
    since: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Artefact:
    """Make a corpus of the pages of a folder and of the folders in it.

    A page's id is its path in the folder. Its address is the ``url`` or ``permalink`` of the front
    matter, else the canonical one of HTML, else that path. Its title is that of the front matter,
    else the first heading, else ``<title>``, else the name of the file. Its text is that of
    ``<main>`` or ``<article>`` where there is one, without navigation, headers, footers and
    scripts. A link leads to a page by its path, with or without its suffix, or to the index of a
    folder; in Markdown ``[[name]]`` leads to the page of that name. Its words are an anchor. Hidden
    files are left out.

    Parameters
    ----------
    directory : Path
    out : Path, optional
        Directory of the corpus; by default one of the store.
    language : str, optional
        Code of the texts' language; by default guessed from their script.
    since : Path, optional
        Collection of an earlier state of the folder: only pages that changed are parsed. The result
        is the same, and the key does not know it; ``counts["since"]`` tells what was taken.

    Raises
    ------
    BadInput
        There is no such folder, no page in it, or no link leads to a page.
    Refused
        ``out`` holds something else, or is being written.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise BadInput(f"{directory}: there is no such folder. Check the path.")
    skipped: Counter[str] = Counter()
    pages = inputs.files_below(directory, SUFFIXES, LARGEST, skipped)
    if not pages:
        raise BadInput(
            f"{directory}: no page is in it. Pages are files that end with {', '.join(SUFFIXES)}."
        )
    parents = {"pages": inputs.digest_tree(directory, pages)}
    make = partial(
        _build,
        directory=directory,
        pages=pages,
        skipped=skipped,
        language=language,
        since=since,
        progress=progress,
    )
    settings = {"source": "folder", "language": language}
    return store.open_or_make(collection.KIND, settings, parents, make, out=out, force=force)


def _build(
    building: Building,
    directory: Path,
    pages: Sequence[str],
    skipped: Counter[str],
    language: str | None,
    since: Path | None,
    progress: Progress | None,
) -> None:
    key = store.key_of("read", {"source": "folder"}, {}, store.code_of(_build)["digest"])
    earlier = open_earlier(since, "folder", _COLUMNS, key) if since else None
    kept = Kept(building.path, _COLUMNS)
    targets = _Targets(pages)
    taken = 0
    read = building.work("links")

    def documents() -> Iterator[pl.DataFrame]:
        nonlocal taken
        for begin in range(0, len(pages), _ROWS):
            names = pages[begin : begin + _ROWS]
            rows, known = _read(directory, names, earlier if isinstance(earlier, Earlier) else None)
            taken += known
            skipped["file_not_utf8"] += len(names) - len(rows)
            links: list[tuple[str, str, str]] = []
            for name, anchors in rows.select("id", "links").iter_rows():
                for href, words in json.loads(anchors):
                    category, target = targets.find(name, href)
                    if target is None:
                        skipped[f"link_{category}"] += 1
                    else:
                        links.append((name, target, words))
            # The pages that links lead to are known when all are read.
            frame = pl.DataFrame(links, schema=_LINKS, orient="row")
            frame.write_parquet(read / f"{begin // _ROWS:05d}.parquet")
            kept.write(rows)
            if progress is not None:
                progress(begin / len(pages), f"{begin + len(names):,} pages read")
            urls = [url or quote(name) for name, url in rows.select("id", "url").iter_rows()]
            yield rows.select(
                "id", "title", "text", "timestamp", url=pl.Series(urls, dtype=pl.String)
            )

    def ends() -> Iterator[pl.DataFrame]:
        for part in sorted(read.glob("*.parquet")):
            yield pl.read_parquet(part, glob=False)

    write_own(building, documents(), ends(), where=directory, language=language)
    kept.finish(key)
    left_out = sum(n for name, n in skipped.items() if name.startswith("link_"))
    building.counts["links_found"] += left_out
    building.skipped.update(sorted((skipped + Counter()).items()))
    told(building, earlier, taken)


_COLUMNS = ("title", "timestamp", "url", "links")
_SCHEMA: dict[str, Any] = {
    "id": pl.String, "digest": pl.Binary, "title": pl.String, "text": pl.String,
    "timestamp": pl.String, "url": pl.String, "links": pl.String,
}  # fmt: skip
_LINKS = dict.fromkeys(("source", "target", "text"), pl.String)


def _read(
    directory: Path, names: Sequence[str], earlier: Earlier | None
) -> tuple[pl.DataFrame, int]:
    """Return the pages that can be read, in the order of their names, and how many were taken."""
    digests = [
        digest_of(PurePosixPath(name).name.encode(), (directory / name).read_bytes())
        for name in names
    ]
    known: dict[int, tuple[str | None, ...]] = {}
    if earlier is not None:
        rows = earlier.take(digests)
        columns = rows.select("title", "text", "timestamp", "url", "links")
        known = dict(zip(rows["place"], columns.iter_rows(), strict=True))
    entries = []
    for place, name in enumerate(names):
        values = known.get(place) or _values(directory / name)
        if values is not None:
            entries.append((name, digests[place], *values))
    return pl.DataFrame(entries, schema=_SCHEMA, orient="row"), len(known)


def _values(path: Path) -> tuple[str | None, ...] | None:
    page = read_page(path)
    if page is None:
        return None
    links = json.dumps(page.links, ensure_ascii=False)
    return page.title, page.text, page.timestamp or None, page.url or None, links


def read_page(path: Path) -> Page | None:
    """Read a page; None where it is neither UTF-8 nor says in which encoding it is."""
    data = path.read_bytes()
    suffix = path.suffix.lower()
    if suffix in HTML:
        return _of_html(data, path.stem)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if suffix in PLAIN:
        return Page(path.stem, text, ())
    return _of_markdown(text, path.stem)


def _of_markdown(text: str, name: str) -> Page:
    front: dict[str, object] = {}
    if match := _FRONT.match(text):
        front, text = _front_matter(match[1]), text[match.end() :]
    text = _WIKI_LINK.sub(lambda link: f"[{link[2] or link[1]}](<{link[1].strip()}>)", text)
    page = _of_html(_MARKDOWN.render(text).encode(), name, encoding="utf-8")
    title, time = front.get("title"), front.get("date", front.get("updated"))
    url = front.get("url", front.get("permalink"))
    return Page(
        str(title) if title else page.title,
        page.text,
        page.links,
        timestamp=str(time) if time else "",
        url=str(url) if url else "",
    )


_MARKDOWN = MarkdownIt("commonmark").enable("table")


def _front_matter(text: str) -> dict[str, object]:
    try:
        values = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _of_html(data: bytes, name: str, encoding: str | None = None) -> Page:
    parser = html.HTMLParser(encoding=encoding or _encoding(data), remove_comments=True)
    try:
        root = html.document_fromstring(data, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return Page(name, "", ())
    heading = next(iter(root.xpath("//h1")), None)
    title = root.findtext(".//title") or ""
    url = next(iter(root.xpath("//link[@rel='canonical']/@href")), "").strip()
    body = next(iter(root.xpath("//main | //article")), None)
    body = root if body is None else body
    for element in body.xpath("|".join(f".//{tag}" for tag in ("head", *_NO_TEXT))):
        element.drop_tree()
    links = tuple((link.get("href"), _words(link)) for link in body.xpath(".//a[@href]"))
    links = tuple((href, words) for href, words in links if href.strip())
    shown = _words(heading) if heading is not None else title
    named = " ".join(shown.split()) or " ".join(title.split()) or name
    return Page(named, _words(body), links, url=url)


def _encoding(data: bytes) -> str | None:
    """Return UTF-8 where the bytes are that; else the parser takes what the page declares."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _words(element: html.HtmlElement) -> str:
    """Return the text of an element, a line for each block in it."""
    parts: list[str] = []
    for event, inner in etree.iterwalk(element, events=("start", "end")):
        block = inner.tag in _BLOCKS
        if block:
            parts.append("\n")
        if event == "start":
            parts.append(inner.text or "")
        elif inner is not element:
            parts.append(inner.tail or "")
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)


class _Targets:
    """Pages by the ways in which a link may write them."""

    def __init__(self, pages: Sequence[str]) -> None:
        self._pages: dict[str, str] = {}
        self._names: dict[str, str] = {}
        # The page itself comes before one that only shares its stem.
        for ways in (self._itself, self._stem, self._folder):
            for page in pages:
                for way in ways(PurePosixPath(page)):
                    self._pages.setdefault(way, page)
        for page in pages:
            self._names.setdefault(PurePosixPath(page).stem.lower(), page)

    @staticmethod
    def _itself(page: PurePosixPath) -> list[str]:
        return [str(page)]

    @staticmethod
    def _stem(page: PurePosixPath) -> list[str]:
        """A generated site has a.html, or a/, where its source has a.md."""
        stem = str(page.with_suffix(""))
        return [stem, *(f"{stem}{suffix}" for suffix in SUFFIXES)]

    @staticmethod
    def _folder(page: PurePosixPath) -> list[str]:
        return [str(page.parent)] if page.stem.lower() in _INDEX else []

    def find(self, source: str, href: str) -> tuple[str, str | None]:
        """Return why a link leads to no page, or the page."""
        try:
            url = urlsplit(href.strip())
        except ValueError:
            return "malformed", None
        if url.scheme or url.netloc:
            return "to_another_site", None
        path = unquote(url.path)
        if not path:
            return "within_the_page", None
        base = "" if path.startswith("/") else posixpath.dirname(source)
        place = posixpath.normpath(posixpath.join(base, path.lstrip("/") or "."))
        page = self._pages.get(place)
        if page is None and "/" not in path:
            page = self._names.get(PurePosixPath(path).stem.lower())
        return "to_no_page", page
