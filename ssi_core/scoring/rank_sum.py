"""Scores of ranks: ``f(q, d) = sum_i 1 / (constant + rank_i(q, d))`` over several models."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ssi_core.scoring.inner import Formula
from ssi_core.scoring.vectors import RankSum
from ssi_core.types import Float32, Float64


class RankSums(Formula[RankSum]):
    """Scores of `RankSum` queries."""

    def scores(self, queries: RankSum, candidates: NDArray[np.bool_] | None = None) -> Float32:
        """Return the scores of all queries with all documents; see `Scorer.score`."""
        pairs = zip(self.ready.parts, queries.parts, strict=True)
        scores_of_parts = (scorer.score(part, candidates) for scorer, part in pairs)
        return reciprocal_ranks(scores_of_parts, queries.constant, candidates)


def reciprocal_ranks(
    scores: Iterable[Float32], constant: float, candidates: NDArray[np.bool_] | None = None
) -> Float32:
    """Add up the reciprocal ranks that the scores of several models give.

    Parameters
    ----------
    scores : iterable of float32 (queries, documents)
        Scores of each model; only one is held at a time.
    constant : float
        Added to each rank.
    candidates : bool (queries, documents) or None
        Documents that a query ranks; the others have no rank, and the score 0. None: all.

    Examples
    --------
    >>> reciprocal_ranks([np.array([[3.0, 2.0, 1.0]]), np.array([[0.0, 5.0, 0.0]])], 1.0).tolist()
    [[0.7857142686843872, 0.8333333134651184, 0.5357142686843872]]
    """
    added: Float64 | None = None
    for block in scores:
        if added is None:
            added = np.zeros(block.shape)
        for row, values in enumerate(block):
            kept = slice(None) if candidates is None else np.flatnonzero(candidates[row])
            added[row, kept] += 1 / (constant + ranks(values[kept]))
    if added is None:
        raise ValueError("no model to take ranks of")
    return added.astype(np.float32)


def ranks(scores: Float32) -> Float64:
    """Return the rank of each score, 1 for the highest; equal ones share the mean of theirs.

    >>> ranks(np.array([0.5, 2.0, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    order = np.argsort(-scores)
    falling = scores[order]
    first = np.flatnonzero(np.append([True], falling[1:] != falling[:-1]))
    last = np.append(first[1:], len(scores))
    means = np.empty(len(scores))
    means[order] = np.repeat((first + 1 + last) / 2, last - first)
    return means
