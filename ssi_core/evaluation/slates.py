"""Measures on slates: what was clicked against what was shown beside it.

Nothing but what an event showed is a candidate. A measure of a query is its mean over the query's
events, so that a page that is visited often counts as one query; where a slate holds nothing that
was not clicked, its rank loss is 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ssi_core.evaluation import popularity
from ssi_core.evaluation.measures import MEASURES, OTHERS, Ranks
from ssi_core.scoring.scorer import score_pairs
from ssi_core.scoring.vectors import Fitted
from ssi_core.types import Float32, Float64, Int32, Int64, Judged, Task

_OF_EVENTS = {one.name: one for one in OTHERS if one.name.startswith("slate_")}
SLATE_MEASURES = tuple(_OF_EVENTS)
"""Measures of tasks that have slates."""
PER_QUERY = (*MEASURES, *popularity.PER_QUERY, *SLATE_MEASURES)
"""Measures that have a value for each query."""


def of_queries(lists: Judged, queries: Int32) -> Judged:
    """Return the lists of some queries, ascending."""
    kept = np.isin(lists.query, queries)
    length = np.diff(lists.start)
    shown = np.repeat(kept, length)
    start = np.concatenate([[0], np.cumsum(length[kept])])
    return Judged(lists.query[kept], start, lists.documents[shown], lists.grade[shown])


def ranks_of(slates: Judged, scores: Float32) -> Ranks:
    """Rank what was clicked in each slate; equal scores are ordered by document row.

    Parameters
    ----------
    slates : Judged
        Slates of n events.
    scores : float32
        Aligned to ``slates.documents``; NaN ranks last.
    """
    scores = np.nan_to_num(scores, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    event = np.repeat(np.arange(len(slates)), np.diff(slates.start))
    order = np.lexsort((slates.documents, -scores, event))
    of, value, grade = event[order], scores[order], slates.grade[order]
    clicked = grade > 0
    position = np.arange(len(order)) - slates.start[of]
    # A group holds what scores alike in one slate.
    first = np.ones(len(order), np.bool_)
    first[1:] = (of[1:] != of[:-1]) | (value[1:] != value[:-1])
    group = np.cumsum(first) - 1
    unclicked = np.concatenate([[0], np.cumsum(~clicked)])
    begin = np.flatnonzero(first)
    end = np.append(begin[1:], len(order))
    above = unclicked[begin][group] - unclicked[slates.start[of]]
    tied = (unclicked[end] - unclicked[begin])[group]
    relevant = np.bincount(of[clicked], minlength=len(slates))
    start = np.concatenate([[0], np.cumsum(relevant)])
    irrelevant = np.diff(slates.start) - relevant
    rank: Int64 = position[clicked] + 1
    return Ranks(start, rank, above[clicked], tied[clicked], grade[clicked], irrelevant)


def slate_measures(slates: Judged, scores: Float32, queries: Int32) -> Mapping[str, Float64]:
    """Measure each of some queries by its events.

    Parameters
    ----------
    slates : Judged
        Events of these queries only, at least one of each.
    scores : float32 array
        See `ranks_of`.
    queries : int32 (m,)
        Rows, ascending.

    Returns
    -------
    measure -> float64 (m,)
    """
    ranks = ranks_of(slates, scores)
    owner: NDArray[np.int64] = np.searchsorted(queries, slates.query)
    events = np.maximum(np.bincount(owner, minlength=len(queries)), 1)
    return {
        name: np.bincount(owner, measure(ranks), minlength=len(queries)) / events
        for name, measure in _OF_EVENTS.items()
    }


class SlateValidator:
    """Slate rank loss that is asked again and again: queries and slates are fixed once.

    Parameters
    ----------
    task : Task
        Has slates of the side.
    side : "valid" or "test"
        Side of the split to measure on.
    queries : int
        How many to draw of those with a slate; all if there are fewer.
    seed : int
        Random seed of the draw.
    threads : int
        See `scorer.Scorer`.
    """

    def __init__(
        self, task: Task, side: str, queries: int = 500, seed: int = 0, *, threads: int = 1
    ) -> None:
        slates: Judged = getattr(task, side).shown
        chosen = np.unique(slates.query)
        if queries < len(chosen):
            draw = np.random.default_rng(seed)
            chosen = np.sort(draw.choice(chosen, queries, replace=False))
        self._slates, self._chosen = of_queries(slates, chosen), chosen
        pairs = self._slates.rows
        documents, column = np.unique(pairs[:, 1], return_inverse=True)
        row = np.searchsorted(chosen, pairs[:, 0])
        self._rows = np.column_stack([row, column]).astype(np.int32)
        self._queries, self._documents = task.queries.take(chosen), task.documents.take(documents)
        self._threads = threads

    def rank_loss(self, fitted: Fitted) -> float:
        """Return the mean over queries."""
        scores = score_pairs(
            fitted.embed_queries(self._queries),
            fitted.embed_documents(self._documents),
            self._rows,
            threads=self._threads,
        )
        measures = slate_measures(self._slates, scores, self._chosen)
        return float(measures["slate_rank_loss"].mean())
