"""Links from titles to documents: redirects followed, every link in exactly one category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.corpus.user_texts import count_anchors
from ssi_core.datasets.wikipedia.titles import is_year
from ssi_core.types import Int64

DOCUMENT, REDIRECT, EMPTY = 0, 1, 2
"""Kinds of pages of the main namespace; an empty one has no words left."""


NOWHERE, IN_CYCLE = -1, -2


def follow(hops: Int64, is_redirect: NDArray[np.bool_]) -> Int64:
    """Return where chains of redirects end: a row, `NOWHERE` or `IN_CYCLE`.

    ``hops[i]`` is the row that i leads to (i itself when it is no redirect) or `NOWHERE`. Doubling:
    after k rounds each row knows what is 2**k hops away.
    """
    ends = hops.copy()
    for _ in range(len(hops).bit_length()):
        alive = np.flatnonzero(ends >= 0)
        ends[alive] = ends[ends[alive]]
    alive = np.flatnonzero(ends >= 0)
    ends[alive[is_redirect[ends[alive]]]] = IN_CYCLE
    return ends


@dataclass(frozen=True)
class Settled:
    """Pages of the main namespace by their outcome, and the page that each title leads to.

    Attributes
    ----------
    sources : DataFrame
        ``row``, ``id``, ``fate``: "document", "duplicate_page" or "repeated_page".
    names : DataFrame
        ``title``, ``id`` (of the page that bears it), ``status`` ("page" or the category of links
        to it), ``destination`` (id of a document).
    counts : "documents", "redirects", "redirects_resolved"
        Number of pages with each outcome.
    skipped : mapping
        "page_empty", "page_duplicate", "page_repeated", "redirect_to_nowhere", "redirect_cycle".
    """

    sources: pl.DataFrame
    names: pl.DataFrame
    counts: Mapping[str, int]
    skipped: Mapping[str, int]


def _choose(column: str, *cases: tuple[pl.Expr, str], otherwise: str) -> pl.Expr:
    """Return the label of the first case that holds, as a column."""
    label = pl.lit(otherwise)
    for condition, name in reversed(cases):
        label = pl.when(condition).then(pl.lit(name)).otherwise(label)
    return label.alias(column)


def _settle_sources(pages: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    all_documents = pages.filter(pl.col("kind") == DOCUMENT).select("row", "id")
    return all_documents.join(
        documents.select("row", "kept"), on="row", how="left", maintain_order="left"
    ).select(
        "row",
        "id",
        _choose(
            "fate",
            (pl.col("kept").is_null(), "repeated_page"),
            (pl.col("kept") == pl.col("id"), "document"),
            otherwise="duplicate_page",
        ),
    )


def _settle_names(once: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return ``title``, ``id``, ``kind``, ``end`` (a row of ``once``, or < 0), where it leads."""
    row = pl.int_range(pl.len(), dtype=pl.Int64)
    numbered = once.select("title", "kind", "target", "id", row=row)
    hops = numbered.join(
        numbered.select(target="title", leads_to="row"),
        on="target",
        how="left",
        maintain_order="left",
    ).select(
        pl.when(pl.col("kind") == REDIRECT)
        .then(pl.col("leads_to").fill_null(-1))
        .otherwise(pl.col("row"))
    )
    is_redirect = (numbered["kind"] == REDIRECT).to_numpy()
    ends = follow(hops.to_series().to_numpy(), is_redirect)
    at_end = numbered.join(
        documents.select("id", "is_year", destination="kept"),
        on="id",
        how="left",
        maintain_order="left",
    ).select("is_year", "destination", end="row")
    return (
        numbered.select("title", "id", "kind", end=pl.Series(ends))
        .join(at_end, on="end", how="left", maintain_order="left")
        .with_columns(
            _choose(
                "status",
                (pl.col("is_year").fill_null(False), "calendar_year"),
                (pl.col("destination").is_not_null(), "page"),
                (pl.col("kind") == REDIRECT, "redirect_to_nowhere"),
                otherwise="empty_page",
            )
        )
    )


def settle_pages(pages: pl.DataFrame) -> Settled:
    """Decide what becomes of each page of the main namespace, and where each title leads.

    Of pages with one title, or one id, the first stays. Of documents with the same text the first
    stays, and links to the others lead to it. A redirect is resolved when its chain ends at a
    document.

    Parameters
    ----------
    pages : DataFrame
        Columns ``row`` (int64, a document's place, null otherwise), ``id`` (str), ``title``,
        ``kind`` (`DOCUMENT`, `REDIRECT` or `EMPTY`), ``target`` (title that a redirect leads to)
        and ``digest`` (binary, of a document's text).
    """
    once = pages.unique("title", keep="first", maintain_order=True)
    once = once.unique("id", keep="first", maintain_order=True)
    documents = once.filter(pl.col("kind") == DOCUMENT).select(
        "row", "id", "title", kept=pl.col("id").first().over("digest")
    )
    years = pl.Series("is_year", [is_year(t) for t in documents["title"]], dtype=pl.Boolean)
    documents = documents.with_columns(years)
    sources = _settle_sources(pages, documents)
    names = _settle_names(once, documents)
    redirects = names.filter(pl.col("kind") == REDIRECT)
    resolved = redirects["destination"].count()
    cycles = int((redirects["end"] == IN_CYCLE).sum())
    kept = int((documents["id"] == documents["kept"]).sum())
    return Settled(
        sources,
        names.select("title", "id", "status", "destination"),
        {"documents": kept, "redirects": redirects.height, "redirects_resolved": resolved},
        {
            "page_empty": int((once["kind"] == EMPTY).sum()),
            "page_duplicate": documents.height - kept,
            "page_repeated": pages.height - once.height,
            "redirect_to_nowhere": redirects.height - resolved - cycles,
            "redirect_cycle": cycles,
        },
    )


@dataclass(frozen=True)
class Resolved:
    """Links between documents.

    Attributes
    ----------
    links : DataFrame
        ``source`` and ``target``, distinct.
    anchors : DataFrame
        ``source``, ``target``, ``text`` and ``weight``: how often the one links to the other with
        that wording.
    counts : Counter
        How many links fell into each category.
    unworded : Counter
        How many of those that are kept or repeated have no wording, "anchor_without_words" and
        "anchor_too_long"; the weights of the anchors are the others.
    """

    links: pl.DataFrame
    anchors: pl.DataFrame
    counts: Counter[str]
    unworded: Counter[str]


def resolve_links(found: pl.DataFrame, settled: Settled) -> Resolved:
    """Return the distinct links between documents, and how many links fell into each category.

    All links of one source must be in one call. The categories add up to the sum of ``n``: "kept",
    "duplicate", "self", "missing_page", "redirect_to_nowhere", "empty_page", "calendar_year",
    "from_duplicate_page", "from_repeated_page".

    Parameters
    ----------
    found : DataFrame
        ``row`` (of the source), ``title`` (of the target), ``anchor`` (its wording, "" without
        words, null where it is too long), ``n`` (times that the link occurs).
    settled : Settled
        From `settle_pages`.
    """
    known = found.join(settled.sources, on="row", how="left", maintain_order="left").join(
        settled.names.drop("id"), on="title", how="left", maintain_order="left"
    )
    from_document = pl.col("fate") == "document"
    known = known.with_columns(
        _choose(
            "category",
            (pl.col("fate") == "duplicate_page", "from_duplicate_page"),
            (~from_document, "from_repeated_page"),
            (pl.col("status").is_null(), "missing_page"),
            (pl.col("status") == "redirect_to_nowhere", "redirect_to_nowhere"),
            (pl.col("status") == "empty_page", "empty_page"),
            (pl.col("status") == "calendar_year", "calendar_year"),
            (pl.col("destination") == pl.col("id"), "self"),
            otherwise="kept",
        )
    )
    totals = known.group_by("category").agg(pl.col("n").sum())
    counts: Counter[str] = Counter({name: int(n) for name, n in totals.iter_rows()})
    kept = known.filter(pl.col("category") == "kept").select(
        "anchor", "n", source="id", target="destination"
    )
    links = kept.select("source", "target").unique(maintain_order=True)
    counts["duplicate"] = counts["kept"] - links.height
    counts["kept"] = links.height
    anchors, unworded = count_anchors(kept)
    return Resolved(links, anchors, counts, unworded)
