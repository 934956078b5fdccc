"""A second stage of a ranking: the first documents of one model, put into another order.

Several models see queries and documents, and the first of them ranks. What each says of a pair is a
feature, and so is 1 / rank under the first; each feature is scaled to 0..1 over the first documents
of its query. A ranker of pairs (`SecondStage`) scores these documents; the documents behind them
keep the order of the first model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ssi_core.scoring.decreasing import strictly_decreasing
from ssi_core.scoring.inner import Formula, best_documents, pairs_in
from ssi_core.scoring.vectors import TwoStage, first_part
from ssi_core.types import Float32, Float64, Int64


def features(scores: Float64, start: Int64) -> Float64:
    """Return the features of pairs: scores of parts and 1 / rank, scaled over each query.

    Parameters
    ----------
    scores : float64 (pairs, parts)
        What `columns` gave, in the order of the first part.
    start : int64 (queries + 1,)
        The pairs of query i are ``start[i]:start[i + 1]``, at least one.

    Returns
    -------
    float64 (pairs, parts + 1)
        In 0..1, the last one from 1 / rank; one value alone becomes 0.
    """
    sizes = np.diff(start)
    rank = 1 + np.arange(len(scores)) - np.repeat(start[:-1], sizes)
    values = np.column_stack([scores, 1 / rank])
    scaled = np.zeros_like(values)
    if len(sizes):
        low = np.repeat(np.minimum.reduceat(values, start[:-1]), sizes, axis=0)
        high = np.repeat(np.maximum.reduceat(values, start[:-1]), sizes, axis=0)
        np.divide(values - low, high - low, out=scaled, where=high > low)
    return scaled


def starts(sizes: Sequence[int] | Int64) -> Int64:
    """Return where the pairs of each query begin, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def reorder(scores: Float64) -> tuple[NDArray[np.intp], Float32]:
    """Return the order of the first documents of a query, and their scores, which fall strictly.

    Equal scores stay in the order of the first stage.
    """
    order = np.argsort(-scores, kind="stable")
    return order, strictly_decreasing(scores[order].astype(np.float32))


def below(scores: Float32) -> int:
    """Return a whole number below the scores of the first documents: those behind count down."""
    return math.floor(scores[-1]) if len(scores) else 0


class TwoStages(Formula[TwoStage]):
    """Scores of `TwoStage` queries."""

    def scores(self, queries: TwoStage, candidates: NDArray[np.bool_] | None = None) -> Float32:
        """Return scores of both stages: of the ranker for the first documents, below them numbers.

        A document behind the first ones has a score that is lower by 1 for each score of the first
        part that is higher than its own; equal ones stay equal.
        """
        parts = self.ready.parts
        first: Float32 = parts[0].score(queries.parts[0])
        able = first.copy()
        if candidates is not None:
            able[~candidates] = -np.inf
        # Nothing is known of a query to which all documents are alike.
        able[first.min(axis=1) == first.max(axis=1)] = -np.inf
        documents = first_part(self.ready.vectors)
        rows, _ = best_documents(queries.parts[0], documents, able, queries.second.depth)
        sizes = (rows >= 0).sum(axis=1)
        pairs = np.column_stack(pairs_in(rows))
        start = starts(sizes[sizes > 0])
        scores_of_parts = map(lambda scorer, part: scorer.pairs(part, pairs), parts, queries.parts)
        values = features(columns(scores_of_parts), start)
        scores = queries.second(values) if len(values) else np.empty(0)
        out = np.empty_like(first)
        ends = starts(sizes)
        for query, (begin, end) in enumerate(pairwise(ends)):
            order, falls = reorder(scores[begin:end])
            _, level = np.unique(-first[query], return_inverse=True)
            out[query] = below(falls) - 1 - level
            out[query, pairs[begin:end, 1][order]] = falls
        return out


def columns(scores: Iterable[Float32]) -> Float64:
    """Return the scores of pairs by each part as columns, float64 (pairs, parts), all finite."""
    largest = float(np.finfo(np.float32).max)
    kept = [np.nan_to_num(one, nan=-largest, posinf=largest, neginf=-largest) for one in scores]
    return np.column_stack(kept).astype(np.float64)
