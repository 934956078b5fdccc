"""Scores that are sums of inner products: ``f(q, d) = <sparse_q, sparse_d> + <dense_q, dense_d>``.

The sparse part goes through an inverted index, the dense part through BLAS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.ranking.candidates import best_by_words
from ssi_core.kernels.ranking.scores import add_pairs, add_sparse
from ssi_core.kernels.sparse import Csr, csr
from ssi_core.kernels.training.structs import read_only
from ssi_core.scoring.exhaustive import best_of_all
from ssi_core.scoring.formula import ROWS_BYTES, Formula, blas, in_parts
from ssi_core.scoring.half import half_products
from ssi_core.scoring.vectors import Inner, Vectors, wide
from ssi_core.types import Float32, Int32, Int64, TextMatrix

_PAIRS_AT_ONCE = 8192


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
            in_parts(_adder(queries, ready.postings, scores), len(queries), ready.threads)
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
            best_by_words(*csr(some), *postings, near, rows[part], scores[part], *scratch)

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
        places = order[bounds[0] : bounds[1]]
        distinct, row = np.unique(query_row[places], return_inverse=True)
        added = np.zeros(len(places), np.float32)
        met = _met(queries, distinct)
        rows_met = np.asarray(row, np.int32)
        _add_pairs(met, documents.sparse, rows_met, document_row[places], added, threads)
        scores[places] += added
    return scores


def _adder(queries: Inner, postings: Csr, scores: Float32) -> Callable[[int, int], None]:
    """Return a function that adds the sparse part of a range of queries to scores."""
    if queries.projection is None:
        query = csr(queries.sparse)
        return lambda first, last: add_sparse(*query, *postings, first, last, scores)

    def add(first: int, last: int) -> None:
        for rows in _few(queries, first, last):
            met = _met(queries, rows)
            add_sparse(*csr(met), *postings, 0, met.shape[0], scores[rows])

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
        add_pairs(*query, *document, *rows, first, last, scratch, scores)

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
