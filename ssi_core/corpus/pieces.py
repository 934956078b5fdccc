"""What a piece of a dump leaves: rows of three tables, and counts.

"texts" are documents in their final schema, "pages" the titles of all pages of the main namespace,
"found" the links from documents to titles. Columns are gathered as lists and handled as arrays: a
page costs a few microseconds beside its XML and its wikitext.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ssi_core import store
from ssi_core.corpus import tables, titles
from ssi_core.corpus.dump import Piece
from ssi_core.corpus.links import DOCUMENT, EMPTY, REDIRECT
from ssi_core.corpus.pages import Page, read_pages
from ssi_core.corpus.titles import MAIN, Site, read_target
from ssi_core.text.wikitext import read_wikitext

TEXTS, PAGES, FOUND = "texts", "pages", "found"
_COUNTS = "counts"
_SCHEMAS = {
    TEXTS: dict(tables.DOCUMENTS),
    PAGES: {
        "row": pl.Int64(),
        "id": pl.String(),
        "title": pl.String(),
        "kind": pl.UInt8(),
        "target": pl.String(),
        "digest": pl.Binary(),
    },
}
ROWS_OF_A_PIECE = 1 << 32
"""Row r of piece p is known as ``p * ROWS_OF_A_PIECE + r``."""


@dataclass(frozen=True)
class Pieces:
    """Where the tables of pieces are; all that a worker is told beside the piece itself."""

    site: Site
    directory: Path

    def make(self) -> None:
        """Make the directories, unless they are there."""
        for table in (TEXTS, PAGES, FOUND, _COUNTS):
            (self.directory / table).mkdir(exist_ok=True)

    def part(self, table: str, number: int) -> Path:
        """Where the rows of a piece in one of the tables are."""
        return self.directory / table / f"{number:05d}.parquet"

    def is_whole(self, number: int) -> bool:
        """Whether all tables of a piece are there."""
        return self._counts(number).exists()

    def counts(self, number: int) -> Counter[str]:
        """Read the counts of a whole piece, "rows" and "targets" (of links) among them."""
        return Counter(json.loads(self._counts(number).read_text()))

    def _counts(self, number: int) -> Path:
        return self.directory / _COUNTS / f"{number:05d}.json"

    def write(self, number: int, frames: dict[str, pl.DataFrame], counts: Counter[str]) -> None:
        """Write the tables of a piece."""
        for table, frame in frames.items():
            part = self.part(table, number)
            frame.write_parquet(part, compression="zstd", compression_level=1)
        # Written last and renamed into place: a piece with counts is whole.
        store.write_json(self._counts(number), counts)


class _Targets(dict[str, int]):
    """Raw target of a link -> number of its title, or below 0 the number of its category."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.titles: dict[str, int] = {}
        self.categories: dict[str, int] = {}

    def __missing__(self, raw: str) -> int:
        category, title = read_target(raw, self.site)
        if category == "page":
            number = self.titles.setdefault(title, len(self.titles))
        else:
            number = -1 - self.categories.setdefault(category, len(self.categories))
        self[raw] = number
        return number


class _Tables:
    """Rows of a piece as they come in."""

    def __init__(self, number: int, site: Site) -> None:
        self.first_row = number * ROWS_OF_A_PIECE
        self.site, self.hidden = site, site.hidden
        self.documents: list[tuple[Any, ...]] = []
        self.pages: list[tuple[Any, ...]] = []
        self.links: list[list[str]] = []
        self.counts: Counter[str] = Counter()

    def add(self, page: Page) -> None:
        """Take in a page: exactly one category for it, and for each of its links."""
        self.counts["pages"] += 1
        words, links = read_wikitext(page.text, hidden=self.hidden)
        self.counts["links_found"] += len(links)
        if page.namespace != MAIN:
            self.counts["page_other_namespace"] += 1
            self.counts["link_from_other_namespace"] += len(links)
            return
        title = titles.clean_title(page.title)
        target, digest, row = None, None, None
        if page.redirect is not None:
            kind = REDIRECT
            target = read_target(page.redirect, self.site)[1] or None
            self.counts["link_from_redirect"] += len(links)
        elif not words:
            kind = EMPTY
            self.counts["link_from_empty_page"] += len(links)
        else:
            kind = DOCUMENT
            digest = hashlib.blake2b(words.encode(errors="replace"), digest_size=16).digest()
            row = self.first_row + len(self.documents)
            language = self.site.language
            document = (str(page.id), title, language, page.revision, page.timestamp, words)
            self.documents.append(document)
            self.links.append(links)
        self.pages.append((row, str(page.id), title, kind, target, digest))

    def found(self) -> pl.DataFrame:
        """Links to titles: ``row`` (of the source), ``title``, ``n`` (times that it occurs)."""
        targets = _Targets(self.site)
        lengths = [len(links) for links in self.links]
        numbers = np.fromiter(
            map(targets.__getitem__, chain.from_iterable(self.links)), np.int64, sum(lengths)
        )
        others = np.bincount(-1 - numbers[numbers < 0], minlength=len(targets.categories))
        for category, n in zip(targets.categories, others.tolist(), strict=True):
            self.counts[f"link_{category}"] += n
        rows = self.first_row + np.repeat(np.arange(len(lengths)), lengths)
        known = pl.Series(list(targets.titles), dtype=pl.String)
        return (
            pl.DataFrame({"row": rows, "number": numbers})
            .filter(pl.col("number") >= 0)
            .group_by("row", "number", maintain_order=True)
            .agg(n=pl.len().cast(pl.UInt32))
            .select("row", pl.lit(known).gather(pl.col("number")).alias("title"), "n")
        )


def _frame(rows: Sequence[tuple[Any, ...]], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    # Column by column: polars looks at each value of rows.
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)


def read_piece(numbered: tuple[int, Piece], pieces: Pieces) -> Counter[str]:
    """Write the tables of a piece; returns its counts.

    Raises
    ------
    BadInput
        A page can't be read.
    """
    number, piece = numbered
    read = _Tables(number, pieces.site)
    for page in read_pages(piece):
        read.add(page)
    frames = {
        TEXTS: _frame(read.documents, _SCHEMAS[TEXTS]),
        PAGES: _frame(read.pages, _SCHEMAS[PAGES]),
        FOUND: read.found(),
    }
    read.counts["rows"] = len(read.documents)
    read.counts["targets"] = frames[FOUND].height
    pieces.write(number, frames, read.counts)
    return read.counts
