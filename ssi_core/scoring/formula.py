"""Base of formulas: how queries of one class score documents that were made ready."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

from ssi_core.kernels.ranking.topk import top_k
from ssi_core.kernels.sparse import Csr, csr
from ssi_core.scoring.vectors import Several, Vectors
from ssi_core.types import Float32, Int32, Int64

ROWS_BYTES = 64 << 20
"""Of full rows that queries become, 12 bytes an entry."""


class Ready:
    """Documents made ready: their sparse part is held once more, by column, when it is needed.

    Parameters
    ----------
    vectors : Vectors
        Vectors of n documents.
    threads : int
        For the sparse part over queries and for BLAS; restored after each call.
    make : callable
        Makes the parts of several models ready.
    """

    def __init__(self, vectors: Vectors, threads: int, make: Callable[[Vectors], Any]) -> None:
        self.vectors, self.threads, self._make = vectors, threads, make
        self.count = len(vectors)

    @cached_property
    def words(self) -> sparse.csc_array | None:
        """The sparse part, by column."""
        return None if self.vectors.sparse is None else self.vectors.sparse.tocsc()

    @cached_property
    def postings(self) -> Csr | None:
        """The same, as kernels take it."""
        return None if self.words is None else csr(self.words)

    @cached_property
    def parts(self) -> Sequence[Any]:
        """Scorers of the parts of several models."""
        vectors = self.vectors
        return [self._make(part) for part in vectors.parts] if isinstance(vectors, Several) else []


Q = TypeVar("Q", bound=Vectors)


class Formula(ABC, Generic[Q]):
    """Scores of the queries of one class.

    Parameters
    ----------
    ready : Ready
        The documents.
    """

    def __init__(self, ready: Ready) -> None:
        self.ready = ready

    @abstractmethod
    def scores(self, queries: Q, candidates: NDArray[np.bool_] | None = None) -> Float32:
        """Return the scores of all queries with all documents; see `Scorer.score`."""

    def best(self, queries: Q, k: int, hidden: Int64 | None = None) -> tuple[Int32, Float32]:
        """Return the k best documents of each query; see `Scorer.best`."""
        scores = self.scores(queries)
        if hidden is not None:
            scores[:, hidden] = -np.inf
        if queries.dense is None:
            scores[scores == 0] = -np.inf
        rows, best = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.float32)
        top_k(scores, rows, best)
        return rows, best

    def pairs(self, queries: Q, query_row: Int32, document_row: Int32) -> Float32:
        """Return the scores of pairs, float32 (n,).

        Those of a few queries at a time, whose scores with all documents are made.
        """
        scores = np.zeros(len(query_row), np.float32)
        distinct, position = np.unique(query_row, return_inverse=True)
        size = max(1, ROWS_BYTES // (12 * self.ready.count))
        for first in range(0, len(distinct), size):
            block = self.scores(queries.take(distinct[first : first + size]))
            pairs = np.flatnonzero((position >= first) & (position < first + size))
            scores[pairs] = block[position[pairs] - first, document_row[pairs]]
        return scores


@cache
def blas() -> ThreadpoolController:
    """Return the controls of BLAS: numpy has loaded its own, and to look for it takes 10 ms."""
    return ThreadpoolController()


def in_parts(work: Callable[[int, int], None], rows: int, threads: int) -> None:
    """Call ``work(first, last)`` for all rows, divided evenly among the threads."""
    parts = min(rows, 1 if threads == 1 else 8 * threads)
    if parts <= 1:
        work(0, rows)
        return
    bounds = np.linspace(0, rows, parts + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, bounds[:-1], bounds[1:]))
