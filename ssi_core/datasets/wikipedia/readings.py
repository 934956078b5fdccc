"""Readings: the fields of each page of a dump, before its links are resolved.

A corpus of a Wikipedia keeps it as ``pages/part-*.parquet``: one part for each chunk of the dump,
one row for each page, in the order of the dump, `PAGES_SCHEMA`. It is all that the second pass of
an ingestion needs, and with the documents all that the next one needs of a page that did not
change.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from ssi_core.datasets.links import DOCUMENT, EMPTY, REDIRECT

OTHER = 3
"""Kind of a page of another namespace, beside those of `links`."""
CATEGORIES = ("calendar_year", "section_only", "malformed", "other_namespace", "interwiki")
"""What a link may be instead of one to a page, see `titles.read_target`."""
PAGES_SCHEMA: Mapping[str, pl.DataType] = {
    "id": pl.Int64(),
    "mark": pl.Binary(),
    "kind": pl.UInt8(),
    "title": pl.String(),
    "target": pl.String(),
    "digest": pl.Binary(),
    "links": pl.UInt32(),
    "of_cells": pl.Boolean(),
    **{f"link_{name}": pl.UInt32() for name in CATEGORIES},
    "titles": pl.List(pl.String()),
    "anchors": pl.List(pl.String()),
    "times": pl.List(pl.UInt32()),
}
"""``mark`` is the digest of the page's bytes in the dump, ``digest`` that of a document's words;
``target`` where a redirect leads to; ``links`` counts the links in the wikitext; ``of_cells`` says
that a document's text is that of its tables, as it has no other. Of a document, ``titles`` and
``anchors`` are the distinct pairs of a title that it links to and of a wording of that link (null:
too long), ``times`` how often each is there, and ``link_...`` counts its other links."""

_ROWS_OF_A_PIECE = 1 << 32
_FROM = {OTHER: "other_namespace", REDIRECT: "redirect", EMPTY: "empty_page"}


def digest_words(words: str) -> bytes:
    """Digest of a document's text, 16 bytes."""
    return hashlib.blake2b(words.encode(errors="replace"), digest_size=16).digest()


def counts_of(pages: pl.DataFrame) -> Counter[str]:
    """Count what was read: exactly one category for each page, and for each of its links.

    "rows" are documents, "of_cells" those of them that are nothing but tables, "targets" pairs of a
    document and a title that it links to; all before the second pass.
    """
    counts = Counter(pages=pages.height, links_found=int(pages["links"].sum()))
    for kind, name in _FROM.items():
        counts[f"link_from_{name}"] = int(pages.filter(kind=kind)["links"].sum())
    counts["page_other_namespace"] = pages.filter(kind=OTHER).height
    for name in CATEGORIES:
        counts[f"link_{name}"] = int(pages[f"link_{name}"].sum())
    counts["of_cells"] = int(pages["of_cells"].sum())
    counts["rows"] = pages.filter(kind=DOCUMENT).height
    counts["targets"] = int(pages["titles"].list.n_unique().sum())
    return counts


def chunk_and_row(row: int) -> tuple[int, int]:
    """Return the number of a row's chunk, and its place among the documents of that chunk."""
    return divmod(row, _ROWS_OF_A_PIECE)


def _numbered(number: int) -> pl.Expr:
    """Rows of the documents of a chunk, in order; null for other pages."""
    document = pl.col("kind") == DOCUMENT
    position = number * _ROWS_OF_A_PIECE + document.cast(pl.Int64).cum_sum() - 1
    return pl.when(document).then(position).alias("row")


def read_titles(parts: Sequence[Path]) -> pl.DataFrame:
    """Read the pages of the main namespace of all chunks, as `links.settle_pages` takes them."""
    columns = ["id", "title", "kind", "target", "digest"]
    frames = [
        pl.read_parquet(part, columns=columns, glob=False)
        .with_columns(_numbered(number), pl.col("id").cast(pl.String))
        .filter(pl.col("kind") != OTHER)
        for number, part in enumerate(parts)
    ]
    return pl.concat(frames)


def read_targets(parts: Mapping[int, Path]) -> pl.DataFrame:
    """Read the links of some chunks, as `links.resolve_links` takes them."""
    frames = [
        pl.read_parquet(part, columns=["kind", "titles", "anchors", "times"], glob=False)
        .with_columns(_numbered(number))
        .filter(pl.col("titles").list.len() > 0)
        .select("row", title="titles", anchor="anchors", n="times")
        .explode("title", "anchor", "n")
        for number, part in parts.items()
    ]
    return pl.concat(frames)
