"""Tables that a chunk of a dump is read into: documents, readings of its pages, counts.

"texts" are documents in their final schema, "pages" are in the schema of `readings`. Columns are
gathered as lists and handled as arrays: a page costs a few microseconds beside its XML and its
wikitext. Pages that an earlier corpus holds as they are cost neither.
"""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ssi_core import collection, integrity
from ssi_core.datasets.links import DOCUMENT, EMPTY, REDIRECT
from ssi_core.datasets.wikipedia import titles
from ssi_core.datasets.wikipedia.before import Before, Marks, mark_pages
from ssi_core.datasets.wikipedia.dump import Chunk
from ssi_core.datasets.wikipedia.pages import Page, read_pages
from ssi_core.datasets.wikipedia.readings import (
    CATEGORIES,
    OTHER,
    PAGES_SCHEMA,
    counts_of,
    digest_words,
)
from ssi_core.datasets.wikipedia.titles import MAIN, Site, read_target
from ssi_core.datasets.wikipedia.wikitext import (
    count_links,
    headings,
    read_cells,
    read_wikitext,
    strip_anchor,
)
from ssi_core.parts import file_once
from ssi_core.text.wording import LONGEST, PLAIN, wording_of
from ssi_core.types import BadInput

TEXTS, PAGES = "texts", "pages"
_COUNTS = "counts"
_log = logging.getLogger(__name__)
_AT_ONCE = 200
"""Pages that are taken out of the XML before their texts are read, as caches like it better."""


@dataclass(frozen=True)
class Chunks:
    """Directories of the tables of chunks: all that a worker is given beside its chunk.

    ``before`` is an earlier corpus of the same wiki, if its pages may be taken over.
    """

    site: Site
    directory: Path
    before: Before | None = None

    def make(self) -> None:
        """Make the directories, unless they are there."""
        for table in (TEXTS, PAGES, _COUNTS):
            (self.directory / table).mkdir(exist_ok=True)

    def part(self, table: str, number: int) -> Path:
        """Return the file that holds the rows of a chunk in one of the tables."""
        return self.directory / table / f"{number:05d}.parquet"

    def is_whole(self, number: int) -> bool:
        """Tell whether all tables of a chunk are there, and are as they were written."""
        if not self._counts(number).exists():
            return False
        try:
            records = self._facts(number)["files"]
            records_now = {
                table: list(integrity.record(self.part(table, number))) for table in records
            }
        except (BadInput, OSError) as error:
            _log.warning("%s", error)
            return False
        return bool(records == records_now)

    def counts(self, number: int) -> Counter[str]:
        """Read the counts of a whole chunk, see `readings.counts_of`."""
        return Counter(self._facts(number)["counts"])

    def _facts(self, number: int) -> dict[str, Any]:
        path = self._counts(number)
        return integrity.read_manifest(path.parent, path.name, "The chunk is read again.")

    def _counts(self, number: int) -> Path:
        return self.directory / _COUNTS / f"{number:05d}.json"

    def write(self, number: int, frames: Mapping[str, pl.DataFrame], counts: Counter[str]) -> None:
        """Write the tables of a chunk."""
        for table, frame in frames.items():
            with file_once(self.part(table, number)) as part:
                frame.write_parquet(part, compression="zstd", compression_level=1)
        # Written last: a chunk with counts is whole.
        records = {table: integrity.record(self.part(table, number)) for table in frames}
        facts = {"counts": counts, "files": records}
        with file_once(self._counts(number)) as draft:
            integrity.write_manifest(draft.parent, draft.name, facts, durable=False)


class _Targets(dict[str, int]):
    """Raw target of a link -> number of its title, or below 0 that of its category."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.titles: dict[str, int] = {}

    def __missing__(self, raw: str) -> int:
        category, title = read_target(raw, self.site)
        if category == "page":
            number = self.titles.setdefault(title, len(self.titles))
        else:
            number = CATEGORIES.index(category) - len(CATEGORIES)
        self[raw] = number
        return number


class _Wordings(dict[str, int]):
    """Raw anchor of a link -> number of its wording."""

    def __init__(self) -> None:
        self.numbers: dict[str | None, int] = {}

    def __missing__(self, raw: str) -> int:
        if len(raw) <= LONGEST and PLAIN.fullmatch(raw):  # as most are
            wording: str | None = raw.lower()
        else:
            wording = wording_of(strip_anchor(raw))
        number = self[raw] = self.numbers.setdefault(wording, len(self.numbers))
        return number


class _Rows:
    """Rows of pages as they are read; ``position`` is that of a page in its chunk."""

    def __init__(self, site: Site) -> None:
        self.site, self.hidden = site, site.hidden
        self.documents: list[tuple[Any, ...]] = []
        self.pages: list[tuple[Any, ...]] = []
        self.links: list[tuple[str, str]] = []
        self.lengths: list[int] = []

    def add(self, position: int, page: Page) -> None:
        """Take in a page."""
        title = titles.clean_title(page.title)
        if page.namespace == MAIN and page.redirect is None:
            self._add_article(position, page, title)
            return
        kind, target = OTHER, None
        n = count_links(page.text, title=title)
        if page.namespace != MAIN:
            title = ""
        else:
            kind, target = REDIRECT, read_target(page.redirect or "", self.site)[1] or None
        self.lengths.append(0)
        self.pages.append((position, page.id, kind, title, target, None, n, False))

    def _add_article(self, position: int, page: Page, title: str) -> None:
        words, links = read_wikitext(page.text, title=title, hidden=self.hidden)
        of_cells = not words
        if of_cells:
            words = read_cells(page.text, title=title, hidden=self.hidden)
        if not words:
            self.lengths.append(0)
            self.pages.append((position, page.id, EMPTY, title, None, None, len(links), False))
            return
        names = (position, str(page.id), title, self.site.language)
        url, parts = self.site.url(title), headings(page.text, hidden=self.hidden)
        texts = (words, parts or None)
        self.documents.append((*names, page.revision, page.timestamp, url, *texts))
        self.links += links
        self.lengths.append(len(links))
        digest = digest_words(words)
        self.pages.append((position, page.id, DOCUMENT, title, None, digest, len(links), of_cells))

    def texts(self) -> pl.DataFrame:
        """Documents, and their places."""
        return _frame(self.documents, {"position": pl.Int64(), **collection.DOCUMENTS})

    def readings(self) -> pl.DataFrame:
        """Pages in the schema of readings, and their places; no marks."""
        names = ("id", "kind", "title", "target", "digest", "links", "of_cells")
        schema = {"position": pl.Int64(), **{name: PAGES_SCHEMA[name] for name in names}}
        return pl.concat([_frame(self.pages, schema), self._targets()], how="horizontal")

    def _targets(self) -> pl.DataFrame:
        """Return the links of each page (titles, wordings, counts), and those that lead nowhere."""
        targets, wordings, n = _Targets(self.site), _Wordings(), len(self.lengths)
        rows = np.repeat(np.arange(n), self.lengths)
        ends = zip(*self.links, strict=True) if self.links else ((), ())
        numbers, anchors = (
            np.fromiter(map(known.__getitem__, raw), np.int64, len(self.links))
            for known, raw in zip((targets, wordings), ends, strict=True)
        )
        wrong = numbers < 0
        others = np.bincount(
            rows[wrong] * len(CATEGORIES) + numbers[wrong] + len(CATEGORIES),
            minlength=n * len(CATEGORIES),
        ).reshape(n, len(CATEGORIES))
        named = [
            pl.Series(list(names), dtype=pl.String) for names in (targets.titles, wordings.numbers)
        ]
        links = {"row": rows[~wrong], "titles": numbers[~wrong], "anchors": anchors[~wrong]}
        lists = (
            pl.DataFrame(links)
            .group_by("row", "titles", "anchors", maintain_order=True)
            .agg(times=pl.len().cast(pl.UInt32))
            .with_columns(
                pl.lit(names).gather(pl.col(column)).alias(column)
                for column, names in zip(("titles", "anchors"), named, strict=True)
            )
            .group_by("row", maintain_order=True)
            .agg("titles", "anchors", "times")
        )
        every = pl.DataFrame({"row": np.arange(n)})
        return every.join(lists, on="row", how="left", maintain_order="left").select(
            *(pl.Series(f"link_{name}", others[:, i]) for i, name in enumerate(CATEGORIES)),
            "titles",
            "anchors",
            "times",
        )


def _frame(rows: Sequence[tuple[Any, ...]], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    # Column by column: polars looks at each value of rows.
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=dict(schema))


def _missing(chunk: Chunk, marks: Marks, there: set[int]) -> Iterator[tuple[int, Chunk]]:
    """Yield the pages that are not there, neighbours together, with the place of the first."""
    xml = chunk.xml or b""
    first = 0
    while first < len(marks):
        if first in there:
            first += 1
            continue
        end = first + 1
        while end < len(marks) and end not in there:
            end += 1
        # What stands between pages goes along, so that a chunk without a known page is unchanged.
        start = marks.stops[first - 1] if first else 0
        stop = marks.stops[end - 1]
        yield first, replace(chunk, start=chunk.start + start, xml=xml[start:stop])
        first = end


def _read(chunk: Chunk, chunks: Chunks, marks: Marks | None) -> dict[str, pl.DataFrame] | None:
    """Return the tables of a chunk; None where its pages are not those that were marked."""
    kept = chunks.before.take(marks) if chunks.before and marks else None
    unchanged = set() if kept is None else set(kept.pages["position"])
    runs = [(0, chunk)] if marks is None else _missing(chunk, marks, unchanged)
    rows = _Rows(chunks.site)
    for first, run in runs:
        pages_of_run = enumerate(read_pages(run), first)
        while some := list(islice(pages_of_run, _AT_ONCE)):
            for position, page in some:
                rows.add(position, page)
    texts, pages = rows.texts(), rows.readings()
    if marks is not None:
        positions = set(pages["position"])
        if len(positions) < pages.height or len(positions) + len(unchanged) != len(marks):
            return None
    mark = [marks.digests[position] if marks else None for position in pages["position"]]
    pages = pages.with_columns(mark=pl.Series(mark, dtype=pl.Binary))
    pages = pages.select("position", *(pl.col(name).cast(of) for name, of in PAGES_SCHEMA.items()))
    if kept is not None:
        pages = pl.concat([pages, kept.pages]).sort("position")
        texts = pl.concat([texts, kept.texts]).sort("position")
    return {TEXTS: texts.drop("position"), PAGES: pages.drop("position")}


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause Python's collector of cycles, which would look at every row again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_piece(numbered: tuple[int, Chunk], chunks: Chunks) -> Counter[str]:
    """Write the tables of a chunk, unless it is whole; returns its counts.

    Raises
    ------
    BadInput
        A page can't be read, or the corpus before is damaged.
    """
    number, chunk = numbered
    if chunks.is_whole(number):
        return chunks.counts(number)
    chunk = chunk.load()
    with _no_collection():
        frames = _read(chunk, chunks, mark_pages(chunk.xml or b"")) or _read(chunk, chunks, None)
    assert frames is not None
    counts = counts_of(frames[PAGES])
    counts["pages"] += chunk.left_out
    counts["page_too_large"] = chunk.left_out
    chunks.write(number, frames, counts)
    return counts
