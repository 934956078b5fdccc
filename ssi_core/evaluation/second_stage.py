"""A second stage of a ranking: the first documents of one model, put into another order.

Queries and documents are `Vectors` with several ``fused`` parts, the first of which ranks. What
each part says of a pair is a feature, and so is 1 / rank under the first part; each feature is
scaled to 0..1 over the first documents of its query. A ranker of pairs (`SecondStage`) scores
these documents; the documents behind them keep the order of the first part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ssi_core.evaluation.half import wide
from ssi_core.evaluation.scorer import score_pairs
from ssi_core.evaluation.trec import falling
from ssi_core.kernels.topk import best_again, top_k
from ssi_core.types import Float32, Float64, Int32, Int64, Vectors

SPARE = 16
"""Documents that are scored once more beside the k best of a dense part."""


def first_part(vectors: Vectors) -> Vectors:
    """Return the part by which the first stage ranks: the vectors themselves, or the first part."""
    return vectors.fused[0] if vectors.fused else vectors


def places(queries: Vectors, k: int, documents: int) -> int:
    """Return how many documents of each query are looked at for the k best."""
    return min(k if queries.dense is None else k + SPARE, documents)


def best_of(candidates: Int32 | None, scores: Float32, k: int) -> tuple[Int32, Float32]:
    """Return rows and scores of the k best of some documents, -1 where there are fewer."""
    chosen = np.empty((len(scores), k), np.int32)
    best = np.empty((len(scores), k), np.float32)
    top_k(scores, chosen, best)
    if candidates is None:
        return chosen, best
    rows = np.take_along_axis(candidates, np.maximum(chosen, 0), 1)
    return np.where(chosen < 0, np.int32(-1), rows), best


def best_documents(
    queries: Vectors,
    documents: Vectors,
    scores: Float32,
    k: int,
    candidates: Int32 | None = None,
) -> tuple[Int32, Float32]:
    """Return rows and scores of the k best documents of each query, best first.

    A document that has no word of the query and meets it in no latent space is none of them. The
    score of a document has the same bits whatever else is asked with it.

    Parameters
    ----------
    queries, documents : Vectors
        Of one part.
    scores : float32 (queries, documents or candidates)
        Overwritten; ``-inf`` and NaN are no candidates.
    k : int
        Documents at most.
    candidates : int32 (queries, candidates) or None
        Rows of the documents that were scored, equal scores by ascending row, -1 and ``-inf`` where
        there is none; None: all. As many as are looked at (`places`) come with the best first.

    Returns
    -------
    int32 and float32 (queries, k or all documents)
        Row -1 and score ``-inf`` where there are no more.
    """
    wanted = places(queries, k, scores.shape[1])
    if queries.dense is None:
        scores[scores == 0] = -np.inf
    rows, best = candidates, scores
    if rows is None or rows.shape[1] > wanted:
        rows, best = best_of(candidates, scores, wanted)
    if queries.dense is not None:
        return _best_again(queries, documents, rows, min(k, rows.shape[1]))
    return rows[:, :k], best[:, :k]


def _best_again(queries: Vectors, documents: Vectors, rows: Int32, k: int) -> tuple[Int32, Float32]:
    """Return the k best of the rows of each query, each document scored by itself.

    A product of matrices adds up in an order that goes with the number of queries.
    """
    scores = np.zeros(rows.shape, np.float32)
    if queries.sparse is not None:
        words = Vectors(queries.sparse, None, queries.through), Vectors(documents.sparse, None)
        scores[rows >= 0] = score_pairs(*words, _pairs(rows))
    chosen, best = np.empty((len(rows), k), np.int32), np.empty((len(rows), k), np.float32)
    assert queries.dense is not None
    assert documents.dense is not None
    for i, some in enumerate(rows):
        dense = wide(documents.dense[some])
        best_again(queries.dense[i], dense, some, scores[i], chosen[i], best[i])
    return chosen, best


def _pairs(rows: Int32) -> Int32:
    """Return query and document of the rows that there are, int32 (pairs, 2)."""
    query, place = np.nonzero(rows >= 0)
    pairs = np.empty((len(query), 2), np.int32)
    pairs[:, 0], pairs[:, 1] = query, rows[query, place]
    return pairs


def scores_of_parts(
    queries: Vectors, documents: Vectors, pairs: Int32, *, threads: int = 1
) -> Float64:
    """Return the score of each part for each pair, float64 (pairs, parts); all are finite."""
    largest = float(np.finfo(np.float32).max)
    columns = [
        np.nan_to_num(
            score_pairs(one, other, pairs, threads=threads),
            nan=-largest, posinf=largest, neginf=-largest,
        )
        for one, other in zip(queries.fused, documents.fused, strict=True)
    ]  # fmt: skip
    return np.column_stack(columns).astype(np.float64)


def features(scores: Float64, start: Int64) -> Float64:
    """Return the features of pairs: scores of parts and 1 / rank, scaled over each query.

    Parameters
    ----------
    scores : float64 (pairs, parts)
        What `scores_of_parts` gave, in the order of the first part.
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
    return order, falling(scores[order].astype(np.float32))


def below(scores: Float32) -> int:
    """Return a whole number below the scores of the first documents: those behind count down."""
    return math.floor(scores[-1]) if len(scores) else 0


def reordered(
    queries: Vectors,
    documents: Vectors,
    first: Float32,
    candidates: NDArray[np.bool_] | None = None,
    *,
    threads: int = 1,
) -> Float32:
    """Return scores of both stages: of the second for the first documents, whole numbers below.

    Parameters
    ----------
    queries, documents : Vectors
        With ``fused`` parts; the queries have a ``second`` stage.
    first : float32 (queries, documents)
        Scores of the first part.
    candidates : bool (queries, documents) or None
        Documents that a query ranks; None: all.
    threads : int
        As in `score_pairs`.

    Returns
    -------
    float32 (queries, documents)
        A document behind the first ones has a score that is lower by 1 for each score of the first
        part that is higher than its own; equal ones stay equal.
    """
    second = queries.second
    assert second is not None
    able = first.copy()
    if candidates is not None:
        able[~candidates] = -np.inf
    # Nothing is known of a query to which all documents are alike.
    able[first.min(axis=1) == first.max(axis=1)] = -np.inf
    rows, _ = best_documents(queries.fused[0], documents.fused[0], able, second.depth)
    sizes = (rows >= 0).sum(axis=1)
    pairs = _pairs(rows)
    start = starts(sizes[sizes > 0])
    values = features(scores_of_parts(queries, documents, pairs, threads=threads), start)
    scores = second(values) if len(values) else np.empty(0)
    out = np.empty_like(first)
    ends = starts(sizes)
    for query, (begin, end) in enumerate(pairwise(ends)):
        order, falls = reorder(scores[begin:end])
        _, level = np.unique(-first[query], return_inverse=True)
        out[query] = below(falls) - 1 - level
        out[query, pairs[begin:end, 1][order]] = falls
    return out
