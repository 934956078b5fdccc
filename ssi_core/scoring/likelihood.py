"""Scores that are logarithms of sums: ``f(q, d) = sum_i q_i ln(1 + d_i + <topics_i, dense_d>)``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.kernels.ranking.best import add_likelihoods
from ssi_core.kernels.sparse import csr, read_only
from ssi_core.resources import blas
from ssi_core.scoring.inner import Formula, in_parts
from ssi_core.scoring.vectors import Likelihood, wide
from ssi_core.types import Float32, Int32

_BYTES = 64 << 20
"""Of the inner sums that are held at once, 4 bytes for a word and a document."""


class Likelihoods(Formula[Likelihood]):
    """Scores of `Likelihood` queries."""

    def scores(self, queries: Likelihood, candidates: NDArray[np.bool_] | None = None) -> Float32:
        """Return the scores of all queries with all documents; see `Scorer.score`."""
        with blas().limit(limits=self.ready.threads, user_api="blas"):
            counts, topics, weights = queries.parts(self.ready.vectors)
            n, weights = len(weights), wide(weights)
            scores = np.zeros((counts.shape[0], n), np.float32)
            known = np.unique(counts.indices)
            by_word = sparse.csc_array(counts)
            for some in _few(known, n):
                inner = topics[some] @ weights.T
                if self.ready.words is not None:
                    inner += self.ready.words[:, some].T.toarray()
                np.log1p(inner, out=inner)
                scores += by_word[:, some] @ inner
            return scores

    def pairs(self, queries: Likelihood, query_row: Int32, document_row: Int32) -> Float32:
        """Return the scores of pairs, float32 (n,)."""
        scores = np.zeros(len(query_row), np.float32)
        counts, topics, weights = queries.parts(self.ready.vectors)
        width = counts.shape[1]
        words: Any = self.ready.vectors.sparse
        if words is None:
            words = sparse.csr_array((len(weights), width), dtype=np.float32)
        inner = csr(counts), csr(words), read_only(topics), read_only(wide(weights))
        rows = read_only(query_row), read_only(document_row)

        def add(first: int, last: int) -> None:
            scratch = np.zeros(width, np.float32)
            add_likelihoods(*inner, *rows, first, last, scratch, scores)

        in_parts(add, len(scores), self.ready.threads)
        return scores


def _few(words: Int32, documents: int) -> Iterator[Int32]:
    """Yield words whose inner sums with all documents fit in memory."""
    size = max(1, _BYTES // (4 * max(1, documents)))
    return (words[start : start + size] for start in range(0, len(words), size))
