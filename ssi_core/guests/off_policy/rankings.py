"""Rank ads for the pages of a click log by a model."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from ssi_core.collection import CLICK
from ssi_core.evaluation.ranking import blocks
from ssi_core.kernels.ranking.best import top_k
from ssi_core.scoring.scorer import Scorer, score_pairs
from ssi_core.scoring.vectors import Fitted, Vectors, refuse_nan
from ssi_core.tasks.linked import Side, number_of, read_linked
from ssi_core.tasks.reading import texts_at
from ssi_core.tasks.unseen import texts_in_views
from ssi_core.types import Float32, Int32, Int64

Among: TypeAlias = Literal["all", "shown"]


def ranking_of(
    fitted: Fitted, clicks: Path, cells: pl.DataFrame, *, among: Among = "all", threads: int = 1
) -> pl.DataFrame:
    """Rank the documents of each page of a log by a model, the best one first.

    Parameters
    ----------
    fitted : Fitted
        It reads the texts in its own views.
    clicks : Path
        Directory of the clicks, with the texts.
    cells : DataFrame
        Columns query, document and position: what the log has shown, and where.
    among : "all" or "shown"
        Ads that are ranked: all of the clicks, or those that the log shows on the page. Equal
        scores are ordered by the row of the ad.

    Returns
    -------
    frame of query, document, position, share
        A row for each place; ``share`` is 1.
    """
    linked = read_linked(clicks, CLICK)
    names = cells["query"].unique().sort()
    pages, query = np.unique(number_of(names, linked.queries.names), return_inverse=True)
    queries = _vectors(fitted, linked.queries, pages, "query")
    slots = cells.select("query", "position").unique().sort("query", "position")
    slots = slots.with_columns(rank=pl.col("position").rank("dense").over("query").cast(pl.Int64))
    if among == "all":
        rows = np.arange(len(linked.documents))
        documents = _vectors(fitted, linked.documents, rows, "document")
        most = int(slots["rank"].to_numpy().max())
        best: Int64 = _best(queries, documents, most, threads)[query].astype(np.int64)
    else:
        best = _best_shown(fitted, linked.documents, queries, query, names, cells, threads)
    page = np.repeat(np.arange(len(best)), best.shape[1])
    ranked = pl.DataFrame(
        {
            "query": names[page],
            "row": best.ravel(),
            "rank": np.tile(np.arange(1, best.shape[1] + 1), len(best)),
        }
    ).filter(pl.col("row") >= 0)
    filled = slots.join(ranked, on=["query", "rank"], maintain_order="left")
    ads = linked.documents.names[filled["row"].to_numpy()]
    return filled.select("query", ads.alias("document"), "position", share=pl.lit(1.0))


def _best(queries: Vectors, documents: Vectors, k: int, threads: int) -> Int32:
    scorer = Scorer(documents, threads=threads)
    k = min(k, scorer.documents)
    best = np.empty((len(queries), k), np.int32)
    value = np.empty(best.shape, np.float32)
    for first, last in blocks(len(best), scorer.documents):
        scores = scorer.score(queries.take(slice(first, last)))
        top_k(scores, best[first:last], value[first:last])
    return best


def _best_shown(
    fitted: Fitted,
    ads: Side,
    queries: Vectors,
    asked: Int64,
    names: pl.Series,
    cells: pl.DataFrame,
    threads: int,
) -> Int64:
    """Return the rows of the documents that each page shows, best first, padded with -1."""
    pairs = cells.select("query", "document").unique().sort("query", "document")
    page = number_of(pairs["query"], names)
    rows, ad = np.unique(number_of(pairs["document"], ads.names), return_inverse=True)
    documents = _vectors(fitted, ads, rows, "document")
    ends = np.column_stack([asked[page], ad]).astype(np.int32)
    scores: Float32 = score_pairs(queries, documents, ends, threads=threads)
    order = np.lexsort((rows[ad], -scores, page))
    page, row = page[order], rows[ad[order]]
    rank = np.arange(len(page)) - np.searchsorted(page, page)
    best = np.full((len(names), int(rank.max()) + 1), -1, np.int64)
    best[page, rank] = row
    return best


def _vectors(fitted: Fitted, side: Side, rows: Int64, which: str) -> Vectors:
    """Return the vectors of some ascending rows of a side."""
    texts = side.texts[rows].with_columns(texts_at(side.parts, rows).alias("text"))
    if which == "query":
        return refuse_nan(fitted.embed_queries(texts_in_views(texts, fitted.query_views)), which)
    return refuse_nan(fitted.embed_documents(texts_in_views(texts, fitted.document_views)), which)
