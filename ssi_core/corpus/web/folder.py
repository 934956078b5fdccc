"""A folder of pages: Markdown, HTML and plain text, linked to each other by their hrefs."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import cmarkgfm
import polars as pl
from cmarkgfm.cmark import Options

from ssi_core import store
from ssi_core.corpus import inputs
from ssi_core.corpus.earlier import Earlier, Kept, digest_of, open_earlier, report_taken
from ssi_core.corpus.tables.form import SAMPLE, encoding_of
from ssi_core.corpus.tree import files_below
from ssi_core.corpus.user_texts import write_own
from ssi_core.corpus.web.front_matter import read_front_matter
from ssi_core.corpus.web.html_page import Page, read_html
from ssi_core.corpus.web.site import MALFORMED, NO_PAGE, Site
from ssi_core.corpus.web.unlisted import HTML, unlisted
from ssi_core.held import held_in
from ssi_core.store import Building
from ssi_core.strict import listed
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.corpus.sources.folder import Folder

MARKDOWN = (".md", ".markdown", ".mdx")
PLAIN = (".txt",)
SUFFIXES = (*MARKDOWN, *HTML, *PLAIN)
"""Files that are pages; all others are left out and counted by their suffix."""
LARGEST = 8 << 20
"""Bytes of a page; a larger one is left out and counted. Parsed it takes up to 200 times that."""

_UNREAD = (".rst", ".adoc", ".asciidoc")
"""Suffixes of pages in other markup, which are counted as unread."""
_CONTENTS = "SUMMARY.md"
"""Table of contents of an mdBook: no page, and its links say nothing of pages."""
_TOO_MANY_LOST = 0.05
"""Share of links within the site that lead to no page, above which a warning names targets."""
_SHOWN = 3
_WIKI_LINK = re.compile(r"(?<!!)\[\[([^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
_REF = re.compile(r"\{\{[<%]\s*(?:rel)?ref\s+\"?([^\"\s>%}]+)\"?[^{}\n]*[>%]\}\}")
_MODULE = re.compile(r"^(?:import|export)\s[^\n]*\n", re.MULTILINE)
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_ROWS = 500


def pages_in(directory: Path, skipped: Counter[str]) -> list[str]:
    """List the paths of the pages in a folder, and count the other files.

    Raises
    ------
    BadInput
        There is no such folder, or no page in it.
    """
    inputs.require_folder(directory)
    pages = files_below(directory, SUFFIXES, LARGEST, skipped)
    contents = [page for page in pages if PurePosixPath(page).name == _CONTENTS]
    skipped["file_table_of_contents"] += len(contents)
    for suffix in _UNREAD:
        skipped[f"page_{suffix[1:]}_unread"] = skipped.pop(f"file_{suffix[1:]}", 0)
    if len(pages) == len(contents):
        raise BadInput(
            f"{directory}: no page is in it. Pages are files that end with {', '.join(SUFFIXES)}. "
            f"{_unread_pages(directory, skipped)}"
        )
    return [page for page in pages if page not in contents]


def _unread_pages(directory: Path, skipped: Counter[str]) -> str:
    """Say what to do where no file is a page."""
    if held_in(directory) == "model":
        return "It is a model: name the folder of the pages that it was fitted on."
    if markup := [suffix for suffix in _UNREAD if skipped[f"page_{suffix[1:]}_unread"]]:
        return f"Build the site of its {' and '.join(markup)} files, and name the folder of HTML."
    others = [name[5:] for name, n in skipped.most_common() if n and name[:5] == "file_"]
    if not others:
        return "Name a folder that has some."
    return (
        f"It has others ({listed(others, _SHOWN).replace('_', ' ')}): name a table itself, end the "
        "names of plain text with .txt, and convert the rest to HTML or Markdown."
    )


def _listed(directory: Path, pages: Sequence[str], skipped: Counter[str]) -> tuple[list[str], Site]:
    """Return the pages that a search may find, and the site that has them; others are counted."""
    left_out = unlisted(directory, pages)
    skipped.update(left_out.reasons.values())
    kept = [page for page in pages if page not in left_out.reasons]
    if not kept:
        raise BadInput(
            f"{directory}: its {len(pages)} pages are none that a search may find: they lead on to "
            "others, or stand for an address that does not exist. Name a folder that has others."
        )
    site = Site(kept)
    for page, href in left_out.targets.items():
        target = site.find(page, href)[1]
        if target is not None:
            site.add(target, [f"/{quote(page)}"])
    return kept, site


def build(building: Building, source: Folder, progress: Progress | None) -> None:
    """Write a corpus of the pages of a folder and of the folders in it.

    A page's id is its path in the folder. Its address is the ``url`` or ``permalink`` of the front
    matter, else the canonical one of HTML, else that path. Its title is that of the front matter,
    else the first heading of level one, else ``<title>``, else a heading of another level with
    which the text begins, else the name of the file. Its text is that of
    ``<main>`` or ``<article>`` where there is one, without navigation, headers, footers and
    scripts. A link leads to a page as `corpus.web.site.Site` says: by its path, with or without its
    suffix, or to the index of a folder, and in the ways of generators of sites; in Markdown
    ``[[name]]`` leads to the page of that name. Its words are an anchor. Hidden files are left out,
    and so are pages that no search should find (`corpus.web.unlisted`), and links to files outside
    of the folder; what is left out is counted.

    ``counts["since"]`` tells what was taken of an earlier collection; the result is the same, and
    the key does not know it.

    Raises
    ------
    BadInput
        There is no such folder, no page in it, or no link leads to a page.
    """
    (directory,) = source.paths
    since = source.since
    skipped: Counter[str] = Counter()
    pages, site = _listed(directory, pages_in(directory, skipped), skipped)
    key = store.key_of("read", {"source": "folder"}, {}, store.code_of(build)["digest"])
    earlier = open_earlier(since, "folder", _COLUMNS, key) if since else None
    kept = Kept(building.path, _COLUMNS)
    taken = 0
    read = building.work("links")

    def documents() -> Iterator[pl.DataFrame]:
        nonlocal taken
        for begin in range(0, len(pages), _ROWS):
            names = pages[begin : begin + _ROWS]
            rows, known = _read(directory, names, earlier if isinstance(earlier, Earlier) else None)
            taken += known
            unread.extend(sorted({*names} - {*rows["id"]}))
            skipped["page_cut_where_nested_too_deep"] += rows.filter(pl.col("cut") != "").height
            for name, aliases, dropped in rows.select("id", "aliases", "dropped").iter_rows():
                skipped["front_matter_key"] += int(dropped)
                _alias(site, name, json.loads(aliases))
            # Where links lead is known when all aliases are.
            rows.select("id", "links").write_parquet(read / f"{begin // _ROWS:05d}.parquet")
            kept.write(rows)
            if progress is not None:
                progress(begin / len(pages), f"{begin + len(names):,} pages read")
            urls = [url or quote(name) for name, url in rows.select("id", "url").iter_rows()]
            yield rows.select(
                "id", "title", "text", "timestamp", "headings", url=pl.Series(urls, dtype=pl.String)
            )

    lost: Counter[str] = Counter()
    unread: list[str] = []

    def ends() -> Iterator[pl.DataFrame]:
        for part in sorted(read.glob("*.parquet")):
            yield _settled(site, pl.read_parquet(part, glob=False), skipped, lost)

    write_own(building, documents(), ends(), where=directory, language=source.language)
    kept.finish(key)
    left_out = sum(n for name, n in skipped.items() if name.startswith("link_"))
    building.counts["links_found"] += left_out
    building.skipped.update(sorted((skipped + Counter()).items()))
    building.skipped.update({"file_in_no_known_encoding": len(unread)} if unread else {})
    _tell_lost(building, directory, lost)
    _tell_unread(directory, unread)
    report_taken(building, earlier, taken)


def _alias(site: Site, name: str, aliases: Sequence[str]) -> None:
    uid = next((one.removeprefix(_XREF) for one in aliases if one.startswith(_XREF)), "")
    site.add(name, [one for one in aliases if not one.startswith(_XREF)], uid)


_XREF = "xref:"


def _settled(
    site: Site, rows: pl.DataFrame, skipped: Counter[str], lost: Counter[str]
) -> pl.DataFrame:
    """Return the links of pages that lead to pages; the others are counted."""
    links: list[tuple[str, str, str]] = []
    for name, anchors in rows.iter_rows():
        for href, words in json.loads(anchors):
            category, target = site.find(name, href)
            if target is not None:
                links.append((name, target, words))
                continue
            skipped[f"link_{category}"] += 1
            if category in (NO_PAGE, MALFORMED):
                lost[href] += 1
    return pl.DataFrame(links, schema=_LINKS, orient="row")


def _tell_lost(building: Building, directory: Path, lost: Counter[str]) -> None:
    """Warn of links to no page where they are many, with the most frequent targets."""
    counts, skipped = building.counts, building.skipped
    repeated = skipped.get("link_repeated", 0) + skipped.get("link_to_itself", 0)
    inner = counts["links"] + repeated + lost.total()
    if not lost or lost.total() <= _TOO_MANY_LOST * inner:
        return
    most = {target: n for target, n in lost.most_common(_SHOWN)}
    counts["links_to_no_page_such_as"] = most
    _log.warning(
        "%s: %d of %d links within the folder lead to no page of it, most often to %s",
        *(directory, lost.total(), inner),
        ", ".join(f"{target!r} ({n})" for target, n in most.items()),
    )


def _tell_unread(directory: Path, unread: Sequence[str]) -> None:
    if unread:
        _log.warning(
            "%s: files left out, for their encoding cannot be told: %d, such as %r. Convert them: "
            "iconv -f ENCODING -t utf-8",
            *(directory, len(unread), unread[0]),
        )


_log = logging.getLogger(__name__)
_COLUMNS = ("title", "timestamp", "url", "headings", "aliases", "dropped", "cut", "links")
_SCHEMA: dict[str, Any] = {
    "id": pl.String, "digest": pl.Binary, "title": pl.String, "text": pl.String,
    "timestamp": pl.String, "url": pl.String, "headings": pl.String, "aliases": pl.String,
    "dropped": pl.String, "cut": pl.String, "links": pl.String,
}  # fmt: skip
_LINKS = dict.fromkeys(("source", "target", "text"), pl.String)


def _read(
    directory: Path, names: Sequence[str], earlier: Earlier | None
) -> tuple[pl.DataFrame, int]:
    """Return the pages that can be read, in the order of their names, and how many were taken."""
    digests = [
        digest_of(PurePosixPath(name).name.encode(), _bytes(directory / name)) for name in names
    ]
    known: dict[int, tuple[str | None, ...]] = {}
    if earlier is not None:
        rows = earlier.take(digests)
        columns = rows.select("title", "text", *_COLUMNS[1:])
        known = dict(zip(rows["place"], columns.iter_rows(), strict=True))
    entries = []
    for position, name in enumerate(names):
        values = known.get(position) or _values(directory / name)
        if values is not None:
            entries.append((name, digests[position], *values))
    return pl.DataFrame(entries, schema=_SCHEMA, orient="row"), len(known)


def _bytes(path: Path) -> bytes:
    return inputs.read_input(path, most=LARGEST, packed=False)


def _values(path: Path) -> tuple[str | None, ...] | None:
    page = read_page(path)
    if page is None:
        return None
    links, aliases = (json.dumps(one, ensure_ascii=False) for one in (page.links, page.aliases))
    about = (page.timestamp or None, page.url or None, page.headings or None)
    return page.title, page.text, *about, aliases, str(page.dropped), "x" * page.cut, links


def read_page(path: Path) -> Page | None:
    """Read a page; None where its encoding cannot be told."""
    data = _bytes(path)
    suffix = path.suffix.lower()
    if suffix in HTML:
        return read_html(data, path.stem)
    text = _decoded(path, data)
    if text is None:
        return None
    if suffix in PLAIN:
        return Page(path.stem, text, ())
    return _of_markdown(text, path.stem, mdx=suffix == ".mdx")


def _decoded(path: Path, data: bytes) -> str | None:
    for encoding in ("utf-8-sig", None):
        with suppress(BadInput, UnicodeDecodeError):
            return data.decode(encoding or encoding_of(path, data[:SAMPLE]))
    return None


def _of_markdown(text: str, name: str, *, mdx: bool = False) -> Page:
    front = read_front_matter(text)
    text = _REF.sub(lambda link: link[1], front.text)
    text = _without_modules(text) if mdx else text
    text = _WIKI_LINK.sub(lambda link: f"[{link[2] or link[1]}](<{link[1].strip()}>)", text)
    title, uid = front.first("title"), front.first("uid")
    rendered = cmarkgfm.markdown_to_html_with_extensions(
        text, options=Options.CMARK_OPT_UNSAFE, extensions=["table"]
    )
    page = read_html(rendered.encode(), name, encoding="utf-8", title=title)
    aliases = [*front.values.get("aliases", ()), *front.values.get("redirect_from", ())]
    return replace(
        page,
        timestamp=front.first("date", "updated"),
        url=front.first("url", "permalink"),
        aliases=(*aliases, *([f"{_XREF}{uid}"] if uid else [])),
        dropped=front.dropped,
    )


def _without_modules(text: str) -> str:
    """Cut lines of JavaScript modules out of MDX, but not out of its blocks of code."""
    parts, last = [], 0
    for fenced in _FENCED.finditer(text):
        parts += [_MODULE.sub("", text[last : fenced.start()]), fenced[0]]
        last = fenced.end()
    return "".join([*parts, _MODULE.sub("", text[last:])])
