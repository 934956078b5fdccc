"""Slices of a report: the measures on some of the relevant documents.

A slice holds pairs of a query and a relevant document. Its measures leave the query's other
relevant documents out, so that its rank loss is that of its own relevant documents against all
irrelevant candidates; queries without a pair in the slice do not count.

===============================  ==================================================================
``warm``                         the document is relevant to some query in training
``negative_only``                it is not: training draws it as d- only
``cold``                         training never sees it (`Texts.test_only`)
``reciprocal``, ``one_way``      the document links back to the query in training, or not
``frequent``, ``rare``           the document is one of the most linked ones that together have half
                                 of the training pairs, or not
``short_query``, ``long_query``  the query has at most as many distinct words as the median query
===============================  ==================================================================

Queries of a few words are slices of their own (`evaluation.short`).

A task may mark pairs of its own (`Task.subsets`), such as those of a frozen set that are new.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.evaluation.measures import MEASURES as ALL_MEASURES
from ssi_core.evaluation.measures import Ranks, standard_error
from ssi_core.types import Float64, Int32, Int64, Report, Task

GROUPS: Mapping[str, tuple[str, ...]] = {
    "what training saw of the document": ("warm", "negative_only", "cold"),
    "the link back": ("reciprocal", "one_way"),
    "training links of the document": ("frequent", "rare"),
    "words of the query": ("short_query", "long_query"),
}
SHORT = ("titles", "anchors", "words:3", "link:3")
"""Slices of queries that are not those of the report; see `evaluation.short`."""
"""What divides the pairs -> its slices."""

MEASURES = {name: ALL_MEASURES[name] for name in ("rank_loss", "map", "mrr", "ndcg_at_10")}
POPULAR = "popular_at_10"
"""Measure of the slices in `SHORT`."""

Mask: TypeAlias = NDArray[np.bool_]


def masks(task: Task, query: Int32, document: Int32, words: Int64) -> dict[str, Mask]:
    """Tell which pairs are in which slice.

    Parameters
    ----------
    query, document : int32 array
        Rows of n pairs.
    words : int64 array
        Distinct words of the query, of each pair; the median is over distinct queries.

    Returns
    -------
    dict
        Slice -> bool (n,), in the order of `GROUPS`, then those that the task marks. Slices without
        a pair are left out.
    """
    links = np.bincount(task.train.rows[:, 1], minlength=len(task.documents))
    unseen = np.zeros(len(task.documents), bool)
    unseen[task.documents.test_only] = True
    cold, linked = unseen[document], links[document] > 0
    often = links[document] >= _half_have(links)
    _, first = np.unique(query, return_index=True)
    short = words <= np.median(words[first])
    slices = {
        "warm": linked & ~cold,
        "negative_only": ~linked & ~cold,
        "cold": cold,
        "frequent": often,
        "rare": ~often,
        "short_query": short,
        "long_query": ~short,
    }
    if task.same:
        width = np.int64(len(task.documents))
        trained = task.train.rows[:, 0] * width + task.train.rows[:, 1]
        back = np.isin(document * width + query, trained)
        slices |= {"reciprocal": back, "one_way": ~back}
    width = np.int64(len(task.documents))
    pairs = query * width + document
    for name, rows in task.subsets.items():
        slices[name] = np.isin(pairs, rows[:, 0] * width + rows[:, 1])
    names = [name for group in GROUPS.values() for name in group]
    names += [name for name in task.subsets if name not in names]
    return {name: slices[name] for name in names if name in slices and slices[name].any()}


def _half_have(links: NDArray[np.integer]) -> int:
    """Return the smallest number of links in the most linked half."""
    most = -np.sort(-links)
    return max(1, int(most[np.searchsorted(np.cumsum(most), most.sum() / 2)]))


def part_of(ranks: Ranks, mask: Mask) -> Ranks:
    """Return the ranks of some relevant documents, as if their query had no others."""
    owner = ranks.owner
    order = np.lexsort((ranks.rank, owner))
    left_out = np.cumsum(~mask[order])
    # Of those left out that stand before, the ones of earlier queries do not count.
    earlier = np.concatenate([[0], left_out])[ranks.start[owner]]
    rank = np.empty_like(ranks.rank)
    rank[order] = ranks.rank[order] - (left_out - earlier)
    relevant = np.bincount(owner[mask], minlength=len(ranks.irrelevant))
    start = np.concatenate([[0], np.cumsum(relevant)])
    above, tied, grade = ranks.above[mask], ranks.tied[mask], ranks.grade[mask]
    return Ranks(start, rank[mask], above, tied, grade, ranks.irrelevant)


def measured(
    ranks: Ranks, found: Mapping[str, Mask], ids: pl.Series, popular: Float64 | None = None
) -> pl.DataFrame:
    """Measure slices.

    Parameters
    ----------
    ranks : Ranks
        Ranks of all relevant documents.
    found : `masks` of them
        Slices that each relevant document is in.
    ids : Series
        Ids of the queries.
    popular : float64 array or None
        ``popular_at_10`` of the queries.

    Returns
    -------
    DataFrame
        In `SCHEMA`, a row per slice and query in it. ``relevant`` and ``candidates`` are counts.
    """
    frames = [pl.DataFrame(schema=SCHEMA)]
    for name, mask in found.items():
        part = part_of(ranks, mask)
        values = {measure: of(part) for measure, of in MEASURES.items()}
        columns = {"slice": [name] * len(ids), "id": ids, "relevant": part.relevant, **values}
        columns["candidates"] = part.relevant + part.irrelevant
        columns[POPULAR] = popular
        frames.append(pl.DataFrame(columns, schema=SCHEMA).filter(pl.col("relevant") > 0))
    return pl.concat(frames)


SCHEMA: Mapping[str, Any] = {
    "slice": pl.String, "id": pl.String, "relevant": pl.Int64,
    "candidates": pl.Int64, **dict.fromkeys(MEASURES, pl.Float64), POPULAR: pl.Float64,
}  # fmt: skip


def summary(frames: Sequence[pl.DataFrame]) -> dict[str, dict[str, float]]:
    """Average slices over seeds query by query, then over queries.

    Returns
    -------
    dict
        Slice -> queries, relevant (counts), candidates (mean count of a query), each of `MEASURES`
        and its error with ``_se``. A single query has no error.
    """
    every = pl.concat(frames, how="diagonal").group_by("slice", "id", maintain_order=True).mean()
    means = {}
    for (name,), part in every.group_by("slice", maintain_order=True):
        numbers = {"queries": float(len(part)), "relevant": float(part["relevant"].sum())}
        if "candidates" in part.columns and part["candidates"].null_count() == 0:
            numbers["candidates"] = float(part["candidates"].mean())  # type: ignore[arg-type]
        for measure in (name for name in (*MEASURES, POPULAR) if name in part.columns):
            if part[measure].null_count():
                continue
            values = part[measure].to_numpy()
            error = standard_error(values)
            numbers |= {measure: float(values.mean())}
            numbers |= {f"{measure}_se": error} if math.isfinite(error) else {}
        means[str(name)] = numbers
    return means


def of_reports(reports: Sequence[Report]) -> dict[str, dict[str, float]]:
    """Average the slices of the seeds of a row; empty for reports without slices."""
    frames = [report.slices for report in reports if report.slices is not None]
    return summary(frames) if frames else {}


def of_short(report: Report) -> dict[str, dict[str, float]]:
    """Return the slices of short queries -> what a person notices of them, and its errors."""
    names = [f"{name}{end}" for name in ("mrr", "ndcg_at_10", POPULAR) for end in ("", "_se")]
    every = of_reports([report])
    return {
        kind: {name: every[kind][name] for name in names if name in every[kind]}
        for kind in SHORT
        if kind in every
    }


def by_value(report: Report, column: str) -> dict[str, dict[str, float]]:
    """Return value -> measures, of the slices that `labels.marked_by` marked by a column."""
    start = f"{column}="
    return {
        name.removeprefix(start): values
        for name, values in of_reports([report]).items()
        if name.startswith(start)
    }
