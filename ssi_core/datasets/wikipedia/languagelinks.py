"""Links between the languages of a Wikipedia, from the three places where they are kept.

The table ``langlinks`` of one of the two wikis, the site links of Wikidata, and links such as
``[[ja:自動車]]`` inside the wikitext of old dumps.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from ssi_core.collection import SIDES
from ssi_core.corpus.inputs import read_lines
from ssi_core.datasets.wikipedia import sqldump
from ssi_core.datasets.wikipedia.dump import Chunk, read_pieces, read_site
from ssi_core.datasets.wikipedia.pages import read_pages
from ssi_core.datasets.wikipedia.titles import MAIN, Site, clean_title
from ssi_core.datasets.wikipedia.wikitext import links
from ssi_core.parts import Stage, run_parts
from ssi_core.types import BadInput, Progress

_WIKI = re.compile(r"([a-z][a-z_]*?)wiki(?:-|\.|_|$)")
_REPORT_EVERY = 100_000


@dataclass(frozen=True)
class Source:
    """File of links between languages, and the languages that are wanted.

    Attributes
    ----------
    path : Path
        The file.
    languages : tuple of str
        Codes of the languages of the queries and of the documents.
    processes : int
        Workers that read wikitext.
    progress : callable
        Told of the share of the file that is read.
    """

    path: Path
    languages: tuple[str, str]
    processes: int
    progress: Progress


@dataclass(frozen=True)
class LanguageLinks:
    """Links as a source has them.

    Attributes
    ----------
    frame : DataFrame
        ``query`` and ``document``, each the title of a page or, on the side ``by_id``, its id.
    by_id : "queries", "documents" or None
        Side of ``frame`` that holds page ids; None: both sides hold titles.
    skipped : Counter
        What the source holds beside links between the two languages, by category.
    """

    frame: pl.DataFrame
    by_id: str | None
    skipped: Counter[str]


def _title(raw: str, language: str) -> str:
    """Title of a page as its wiki writes it."""
    return Site(language).first_up(clean_title(raw))


def _one_way(rows: list[tuple[str, str]], side: int, skipped: Counter[str]) -> LanguageLinks:
    """Links of rows (id of a page on a side, title on the other)."""
    names = ("query", "document") if side == 0 else ("document", "query")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")
    return LanguageLinks(frame.select("query", "document"), SIDES[side], skipped)


def read_langlinks(source: Source) -> LanguageLinks:
    """Read ``*wiki-*-langlinks.sql(.gz)``: rows (page id, language, title), of either wiki.

    Raises
    ------
    BadInput
        The dump is damaged or of another table, or has links to both languages and a name that
        doesn't tell whose it is.
    """
    skipped: Counter[str] = Counter()
    codes = {code.encode(): side for side, code in enumerate(source.languages)}
    rows: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for number, (row, share) in enumerate(sqldump.read_rows(source.path, "langlinks", 3)):
        if not number % _REPORT_EVERY:
            source.progress(share, f"{number:,} language links read")
        to = codes.get(sqldump.text_of(row[1]))
        if to is None:
            skipped["other_language"] += 1
            continue
        try:
            raw = sqldump.text_of(row[2]).decode()
        except UnicodeDecodeError:
            skipped["title_not_utf8"] += 1
            continue
        if not raw:
            skipped["title_empty"] += 1
            continue
        rows[to].append((row[0].decode(), _title(raw, source.languages[to])))
    to = _target(source, rows)
    # Some pages name their own language too.
    skipped["own_language"] += len(rows[1 - to])
    return _one_way(rows[to], 1 - to, skipped)


def _target(source: Source, rows: tuple[list[Any], list[Any]]) -> int:
    """Side that the links of a table lead to; the pages that have them are on the other."""
    named = _WIKI.match(source.path.name)
    language = named[1].replace("_", "-") if named else ""
    language = "en" if language == "simple" else language
    if language in source.languages:
        return 1 - source.languages.index(language)
    if rows[0] and rows[1]:
        query, document = source.languages
        raise BadInput(
            f"{source.path}: it has links to both {query!r} and {document!r}, so it is not of one "
            f"of the two, or its name doesn't say. Name it {query}wiki-langlinks.sql.gz or "
            f"{document}wiki-langlinks.sql.gz."
        )
    return 0 if rows[0] else 1


def read_sitelinks(source: Source) -> LanguageLinks:
    """Read a JSON dump of Wikidata, an entity a line: items with a page in both languages.

    Raises
    ------
    BadInput
        The file is damaged, or a line is no entity.
    """
    skipped: Counter[str] = Counter()
    sites = [f"{code.replace('-', '_')}wiki" for code in source.languages]
    marks = [json.dumps(site).encode() for site in sites]
    rows: list[tuple[str, str]] = []
    for number, (line, share) in enumerate(read_lines(source.path), 1):
        if not number % _REPORT_EVERY:
            source.progress(share, f"{number:,} items read")
        if line is None:
            skipped["entity_too_long"] += 1
            continue
        entity = line.strip().removesuffix(b",")
        if entity in (b"", b"[", b"]"):
            continue
        if not (entity.startswith(b"{") and entity.endswith(b"}")):
            raise _no_entity(source.path, number)
        # Most items lack one of the two; only the others are worth parsing.
        links = _sitelinks(source.path, number, entity) if all(m in entity for m in marks) else {}
        if not all(site in links for site in sites):
            skipped["entity_without_both"] += 1
            continue
        pair = [_title(links[s], code) for s, code in zip(sites, source.languages, strict=True)]
        rows.append((pair[0], pair[1]))
    schema = {"query": pl.String(), "document": pl.String()}
    return LanguageLinks(pl.DataFrame(rows, schema=schema, orient="row"), None, skipped)


def _sitelinks(path: Path, number: int, entity: bytes) -> dict[str, str]:
    """Site -> title of an item."""
    try:
        sitelinks = json.loads(entity).get("sitelinks") or {}
        return {site: link["title"] for site, link in dict(sitelinks).items()}
    except (ValueError, KeyError, TypeError):
        raise _no_entity(path, number) from None


def _no_entity(path: Path, number: int) -> BadInput:
    return BadInput(
        f"{path}: line {number} is no entity of Wikidata. Give its JSON dump (*-all.json.bz2 or "
        ".gz), or download it again."
    )


def read_interlanguage(source: Source) -> LanguageLinks:
    """Read links to the other language in the wikitext of a dump of one of the two wikis.

    Raises
    ------
    BadInput
        The dump is damaged, or of a third language.
    """
    language = read_site(source.path).language
    if language not in source.languages:
        raise BadInput(
            f"{source.path}: its language is {language!r}, those of the corpora are "
            f"{' and '.join(map(repr, source.languages))}. Give the dump of one of them."
        )
    side = source.languages.index(language)
    stage: Stage[tuple[int, Chunk], tuple[_Rows, int]] = Stage(
        "read links", partial(_of_numbered, language=source.languages[1 - side]), source.path.parent
    )
    by_chunk: dict[int, _Rows] = {}
    skipped: Counter[str] = Counter()
    links_found, share = 0, 0.0
    chunks = enumerate(read_pieces(source.path))
    with run_parts(stage, chunks, processes=source.processes) as ended:
        for done in ended:
            (number, chunk), (by_chunk[number], left_out) = done.part, done.result()
            links_found += len(by_chunk[number])
            share = max(share, chunk.done)
            skipped["page_too_large"] += left_out
            source.progress(share, f"{links_found:,} language links read")
    return _one_way([row for number in sorted(by_chunk) for row in by_chunk[number]], side, skipped)


_Rows: TypeAlias = list[tuple[str, str]]


def _of_numbered(numbered: tuple[int, Chunk], language: str) -> tuple[_Rows, int]:
    return interlanguage_of_chunk(numbered[1], language)


def interlanguage_of_chunk(chunk: Chunk, language: str) -> tuple[list[tuple[str, str]], int]:
    """Return page id and title of each link to a language, and the number of pages left out."""
    chunk = chunk.load()
    mark = re.compile(rf"\[\[\s*{re.escape(language)}\s*:", re.IGNORECASE)
    pairs: list[tuple[str, str]] = []
    for page in read_pages(chunk):
        if page.namespace != MAIN or page.redirect is not None or not mark.search(page.text):
            continue
        for target, _ in links(page.text):
            prefix, _, title = target.partition(":")
            if prefix.strip().lower() == language and title.strip():
                pairs.append((str(page.id), _title(title, language)))
    return pairs, chunk.left_out


SOURCES: dict[str, Callable[[Source], LanguageLinks]] = {
    "langlinks": read_langlinks,
    "wikidata": read_sitelinks,
    "wikitext": read_interlanguage,
}
"""Readers by the name of what they read."""
