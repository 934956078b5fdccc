"""The best documents of queries among those that were scored, with the same bits however asked."""

from __future__ import annotations

import numpy as np

from ssi_core.kernels.ranking.topk import best_again, top_k
from ssi_core.scoring.inner import pairs_of
from ssi_core.scoring.vectors import Inner, Vectors, wide
from ssi_core.types import Float32, Int32

SPARE = 16
"""Documents that are scored once more beside the k best of a dense part."""


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
        Vectors with one part.
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
    """Return the k best rows, scored one by one so that bits do not depend on the batch."""
    scores = np.zeros(rows.shape, np.float32)
    if queries.sparse is not None:
        projection = queries.projection if isinstance(queries, Inner) else None
        words = Inner(queries.sparse, None, projection), Inner(documents.sparse, None)
        scores[rows >= 0] = pairs_of(*words, *pairs_in(rows))
    chosen, best = np.empty((len(rows), k), np.int32), np.empty((len(rows), k), np.float32)
    assert queries.dense is not None
    assert documents.dense is not None
    for i, some in enumerate(rows):
        dense = wide(documents.dense[some])
        best_again(queries.dense[i], dense, some, scores[i], chosen[i], best[i])
    return chosen, best


def pairs_in(rows: Int32) -> tuple[Int32, Int32]:
    """Return query and document of the rows that there are, int32 (pairs,) each."""
    query, place = np.nonzero(rows >= 0)
    return query.astype(np.int32), np.ascontiguousarray(rows[query, place], dtype=np.int32)
