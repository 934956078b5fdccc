"""Formulas of scores: their base, and sums of inner products.

A formula is how queries of one class score documents that were made ready. ``f(q, d) = <sparse_q,
sparse_d> + <dense_q, dense_d>`` is that of `Inner`: the sparse part goes through an inverted index,
the dense part through BLAS. Of the best documents alone scores are kept: few queries are scored one
by one, as fast as memory is read, and more of them in tiles, which read a document once for
`tiles.LANES` queries. The best documents have the same bits however they are asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.ranking.best import (
    add_pairs,
    best_again,
    best_one_by_one,
    best_together,
    top_k,
)
from ssi_core.kernels.ranking.candidates import best_by_words
from ssi_core.kernels.ranking.scores import add_frequent, add_sparse
from ssi_core.kernels.ranking.tiles import LANES, ROWS
from ssi_core.kernels.sparse import Csr, csr, read_only
from ssi_core.kernels.vectors import converts_float16
from ssi_core.resources import blas
from ssi_core.scoring.half import half_products
from ssi_core.scoring.vectors import Inner, Vectors, wide
from ssi_core.types import Float32, Int32, Int64, TextMatrix

if TYPE_CHECKING:
    from ssi_core.scoring.scorer import Ready

ROWS_BYTES = 64 << 20
"""Of full rows that queries become, 12 bytes an entry."""
_PAIRS_AT_ONCE = 8192
_FEW = 5  # queries, which are faster one by one
_BLOCK = 8192  # documents at a time
_BLOCK_TOGETHER = ROWS * (512 // ROWS)
_MANY = 64
"""Queries from which on frequent words have full columns."""

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
        return best_of(None, scores, k)

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


class InnerProducts(Formula[Inner]):
    """Scores of `Inner` queries."""

    def scores(self, queries: Inner, candidates: NDArray[np.bool_] | None = None) -> Float32:
        """Return the scores of all queries with all documents; see `Scorer.score`."""
        ready = self.ready
        if queries.dense is not None and ready.vectors.dense is not None:
            with blas().limit(limits=ready.threads, user_api="blas"):
                scores = _products(queries.dense, ready.vectors.dense)
        else:
            scores = np.zeros((len(queries), ready.count), np.float32)
        if queries.sparse is not None and ready.postings is not None:
            in_parts(_adder(queries, ready, scores), len(queries), ready.threads)
        return scores

    def best(self, queries: Inner, k: int, hidden: Int64 | None = None) -> tuple[Int32, Float32]:
        """Return the k best documents of each query; no array has an entry for each pair."""
        ready = self.ready
        dense, given = ready.vectors.dense, (ready.postings, ready.count, k, hidden)
        if queries.sparse is None or queries.projection is None:
            words = None if queries.sparse is None else csr(queries.sparse)
            return best_of_all(queries.dense, words, dense, *given)
        parts_of_best = [
            best_of_all(
                None if queries.dense is None else queries.dense[part],
                csr(_met(queries, part)), dense, *given,
            )
            for part in _few(queries, 0, len(queries))
        ]  # fmt: skip
        rows, best = (np.concatenate(arrays) for arrays in zip(*parts_of_best, strict=True))
        return rows, best

    def best_by_words(self, queries: Inner, near: int, rows: Int32, scores: Float32) -> None:
        """Add the sparse part to given scores; see `Scorer.best_by_words`."""
        postings, n = self.ready.postings, self.ready.count
        assert postings is not None
        scratch = np.empty(n, np.float32), np.empty(n, np.int32), np.empty(n, np.int32)
        for part in _few(queries, 0, len(queries)):
            assert queries.sparse is not None
            some = queries.sparse[part] if queries.projection is None else _met(queries, part)
            scratch[1][:] = 0
            best_by_words(csr(some), postings, near, rows[part], scores[part], *scratch)

    def pairs(self, queries: Inner, query_row: Int32, document_row: Int32) -> Float32:
        """Return the scores of pairs, float32 (n,)."""
        return pairs_of(queries, self.ready.vectors, query_row, document_row, self.ready.threads)


def pairs_of(
    queries: Inner, documents: Vectors, query_row: Int32, document_row: Int32, threads: int = 1
) -> Float32:
    """Return the scores of pairs, float32 (n,), without an index of words."""
    scores = np.zeros(len(query_row), np.float32)
    if queries.dense is not None and documents.dense is not None:
        for first in range(0, len(query_row), _PAIRS_AT_ONCE):
            part = slice(first, first + _PAIRS_AT_ONCE)
            left, right = queries.dense[query_row[part]], documents.dense[document_row[part]]
            scores[part] = np.einsum("ij,ij->i", left, wide(right))
    if queries.sparse is None or documents.sparse is None:
        return scores
    if queries.projection is None:
        _add_pairs(queries.sparse, documents.sparse, query_row, document_row, scores, threads)
        return scores
    order = np.argsort(query_row, kind="stable")
    for part in _few(queries, 0, len(queries)):
        bounds = np.searchsorted(query_row, [part.start, part.stop], sorter=order)
        positions = order[bounds[0] : bounds[1]]
        distinct, row = np.unique(query_row[positions], return_inverse=True)
        added = np.zeros(len(positions), np.float32)
        met = _met(queries, distinct)
        rows_met = np.asarray(row, np.int32)
        _add_pairs(met, documents.sparse, rows_met, document_row[positions], added, threads)
        scores[positions] += added
    return scores


def _adder(queries: Inner, ready: Ready, scores: Float32) -> Callable[[int, int], None]:
    """Return a function that adds the sparse part of a range of queries to scores."""
    words, postings = queries.sparse, ready.postings
    assert words is not None
    assert postings is not None
    if queries.projection is None:
        query = csr(words)
        if len(queries) < _MANY or not words.has_sorted_indices:
            return lambda first, last: add_sparse(query, postings, 0, first, last, scores)
        columns = ready.frequent

        def add_all(first: int, last: int) -> None:
            add_frequent(query, columns, first, last, scores)
            add_sparse(query, postings, columns.shape[1], first, last, scores)

        return add_all

    def add(first: int, last: int) -> None:
        for rows in _few(queries, first, last):
            met = _met(queries, rows)
            add_sparse(csr(met), postings, 0, 0, met.shape[0], scores[rows])

    return add


def _add_pairs(
    queries: TextMatrix,
    documents: TextMatrix,
    query_row: Int32,
    document_row: Int32,
    scores: Float32,
    threads: int,
) -> None:
    query, document = csr(queries), csr(documents)
    rows = read_only(query_row), read_only(document_row)
    width = queries.shape[1]

    def add(first: int, last: int) -> None:
        scratch = np.zeros(width, np.float32)
        add_pairs(query, document, *rows, first, last, scratch, scores)

    in_parts(add, len(scores), threads)


def _few(queries: Inner, first: int, last: int) -> Iterator[slice]:
    """Yield ranges of queries whose sparse parts fit in memory as full rows."""
    width = queries.projection.width if queries.projection is not None else 1
    size = max(1, ROWS_BYTES // (12 * max(1, width)))
    return (slice(start, min(start + size, last)) for start in range(first, last, size))


def _met(queries: Inner, rows: Any) -> TextMatrix:
    """Return the sparse parts of some queries, over the columns of documents."""
    assert queries.sparse is not None
    assert queries.projection is not None
    return queries.projection(queries.sparse[rows])


def _products(queries: Float32, documents: NDArray[Any]) -> Float32:
    """Return ``queries @ documents.T``, float32, of documents in float32 or float16."""
    if documents.dtype == np.float16:
        return half_products(queries, documents)
    products: Float32 = queries @ documents.T
    return products


def best_of_all(
    queries: Float32 | None,
    words: Csr | None,
    documents: NDArray[Any] | None,
    postings: Csr | None,
    count: int,
    k: int,
    hidden: Int64 | None = None,
) -> tuple[Int32, Float32]:
    """Return rows and scores of the k best of ``count`` documents for each query.

    Parameters
    ----------
    queries, documents : float32 (m, dimensions) or None
        Dense parts; that of the documents has ``count`` rows, and may be float16.
    words, postings : Csr or None
        Sparse parts; that of the documents has a row for each column of ``words``. One of the two
        parts is given.
    hidden : int64 or None
        Rows that are never found, ascending.

    Returns
    -------
    int32 and float32 (m, k)
        As `kernels.ranking.best.best_one_by_one` writes them.
    """
    if words is None or postings is None:
        assert queries is not None
        words, postings = _nothing(len(queries)), _nothing(1)
    m = len(words.indptr) - 1
    if queries is None or documents is None:
        queries, documents = np.zeros((m, 0), np.float32), np.zeros((count, 0), np.float32)
    documents = read_only(readable(documents))
    queries = read_only(np.ascontiguousarray(queries, np.float32))
    hidden = read_only(np.empty(0, np.int64) if hidden is None else hidden)
    rows, best = np.empty((m, k), np.int32), np.empty((m, k), np.float32)
    if m <= _FEW:
        within, scores = np.empty(len(words.indices), np.int64), np.empty(_BLOCK, np.float32)
        best_one_by_one(documents, queries, words, postings, hidden, within, scores, rows, best)
        return rows, best
    scores, bars = np.empty((_BLOCK_TOGETHER, LANES), np.float32), np.empty(LANES, np.float32)
    for first in range(0, m, LANES):
        some = slice(first, min(first + LANES, m))
        columns = np.zeros((documents.shape[1], LANES), np.float32)
        columns[:, : some.stop - first] = queries[some].T
        met, weights = _by_words(words, some)
        within = np.empty(len(met), np.int64)
        given = documents, columns, met, weights, postings, hidden, within, scores, bars
        best_together(*given, rows[some], best[some])
    return rows, best


@lru_cache(maxsize=8)
def _nothing(rows: int) -> Csr:
    starts = np.zeros(rows + 1, np.int64)
    return Csr(*map(read_only, (starts, np.empty(0, np.int32), np.empty(0, np.float32))))


def _by_words(words: Csr, some: slice) -> tuple[Int32, Float32]:
    """Return the distinct words of some queries, with a row of weights for each word."""
    starts = words.indptr[some.start : some.stop + 1]
    entries = slice(starts[0], starts[-1])
    met, position = np.unique(words.indices[entries], return_inverse=True)
    weights = np.zeros((len(met), LANES), np.float32)
    lane = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    np.add.at(weights, (position, lane), words.data[entries])
    return read_only(met), weights


def readable(rows: NDArray[Any]) -> NDArray[Any]:
    """Return C-ordered rows for kernels: float32, or float16 as uint16 where it is converted."""
    rows = np.ascontiguousarray(rows)
    if rows.dtype == np.float16 and converts_float16():
        return rows.view(np.uint16)
    return np.asarray(rows, np.float32)


SPARE = 16
"""Documents that are scored once more beside the k best of a dense part."""


def looked_at(queries: Vectors, k: int, documents: int) -> int:
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
        there is none; None: all. As many as are looked at (`looked_at`) come with the best first.

    Returns
    -------
    int32 and float32 (queries, k or all documents)
        Row -1 and score ``-inf`` where there are no more.
    """
    wanted = looked_at(queries, k, scores.shape[1])
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
    query, column = np.nonzero(rows >= 0)
    return query.astype(np.int32), np.ascontiguousarray(rows[query, column], dtype=np.int32)


def in_parts(work: Callable[[int, int], None], rows: int, threads: int) -> None:
    """Call ``work(first, last)`` for all rows, divided evenly among the threads."""
    parts = min(rows, 1 if threads == 1 else 8 * threads)
    if parts <= 1:
        work(0, rows)
        return
    bounds = np.linspace(0, rows, parts + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, bounds[:-1], bounds[1:]))
