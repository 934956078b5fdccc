"""Scores of a part of the documents: those near a query, and those with its words.

The score is ``<u, v> + <a, b>`` with ``u, v`` dense and ``a, b`` sparse. A query looks at documents
of large ``<u, v>``, which a `Near` finds, and at those of largest ``<a, b>``, which the inverted
index of words knows exactly. Both parts of the score are exact for whatever it looks at.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Inner, Vectors, wide
from ssi_core.types import Float32, Int32, Int64

# To look at a part is no help, and may miss some, where a share of 1 / _SHARE or more is asked for.
_SHARE = 4
# Documents that are looked at for their words alone.
_BY_WORDS = 64


class Near(Protocol):
    """Finds documents of large inner products with a query."""

    def __call__(self, queries: Float32, count: int) -> tuple[Int32, Float32]:
        """Return rows int32 (m, count), -1 where there is none, and inner products float32."""
        ...


class PartScores:
    """Scores of the documents near a query, and of those with its words.

    Parameters
    ----------
    near : Near
        Finds documents by their dense vectors.
    documents : Vectors
        `Vectors` of all documents.
    size : int
        Documents near a query that are looked at.
    """

    def __init__(self, near: Near, documents: Vectors, size: int) -> None:
        assert documents.dense is not None
        self._near, self._dense, self.size = near, documents.dense, size
        self._exact = Scorer(documents)

    def __call__(
        self, queries: Vectors, least: int, hidden: Int64 | None = None
    ) -> tuple[Int32, Float32]:
        """Return the rows that are looked at and their scores; see `ranked.Scores`."""
        assert queries.dense is not None
        count = max(self.size, least + (0 if hidden is None else len(hidden)))
        if _SHARE * count >= len(self._dense):
            return self._exact.best(queries, least, hidden)
        rows, scores = self._near(queries.dense, count)
        if queries.sparse is not None:
            rows, scores = self._with_words(queries, rows, scores)
        if hidden is not None:
            rows[np.isin(rows, hidden)] = -1
        scores[rows < 0] = -np.inf
        order = np.argsort(rows, axis=1)
        return np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1)

    def _with_words(
        self, queries: Vectors, near: Int32, products: Float32
    ) -> tuple[Int32, Float32]:
        """Add the words' part to scores, and the documents that are best by words."""
        assert isinstance(queries, Inner)
        assert queries.dense is not None
        count = near.shape[1]
        rows = np.hstack([near, np.full((len(near), _BY_WORDS), -1, np.int32)])
        scores = np.hstack([products, np.zeros((len(near), _BY_WORDS), np.float32)])
        self._exact.best_by_words(queries, count, rows, scores)
        for query, row, score in zip(queries.dense, rows, scores, strict=True):
            score[count:] += wide(self._dense[row[count:]]) @ query
        return rows, scores
