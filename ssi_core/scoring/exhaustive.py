"""Queries scored with all documents, whose dense vectors an index may keep as float16.

Of the k best alone scores are kept. Few queries are scored one by one, as fast as memory is read;
more of them in tiles, which read a document once for `tiles.LANES` queries.

All arithmetic is float32: rows of float16, half of the bytes, are widened when they are read. For
more than a few queries all documents are, a block at a time, so that the wide ones stay in the
cache for BLAS.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.ranking.exhaustive import best_one_by_one, best_together
from ssi_core.kernels.ranking.scores import products_with_half, widen_rows
from ssi_core.kernels.ranking.tiles import LANES, ROWS
from ssi_core.kernels.sparse import Csr, read_only
from ssi_core.kernels.vectors import converts_float16
from ssi_core.types import Float32, Int32, Int64

_FEW = 5  # queries, which are faster one by one
_BLOCK = 8192  # documents at a time
_BLOCK_TOGETHER = ROWS * (512 // ROWS)


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
        As `kernels.ranking.exhaustive.best_one_by_one` writes them.
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


_BLOCK_BYTES = 512 << 10
"""Of wide rows."""

_FEW_OF_HALVES = 4
"""Queries that read all documents by themselves."""


def readable(rows: NDArray[Any]) -> NDArray[Any]:
    """Return C-ordered rows for kernels: float32, or float16 as uint16 where it is converted."""
    rows = np.ascontiguousarray(rows)
    if rows.dtype == np.float16 and converts_float16():
        return rows.view(np.uint16)
    return np.asarray(rows, np.float32)


def half_products(queries: Float32, documents: NDArray[Any]) -> Float32:
    """Return ``queries @ documents.T``, float32, of documents in float16."""
    n, width = documents.shape
    products = np.empty((len(queries), n), np.float32)
    converted = converts_float16()
    halves = read_only(np.ascontiguousarray(documents).view(np.uint16 if converted else np.float16))
    if converted and len(queries) <= _FEW_OF_HALVES:
        for query, row in zip(read_only(np.ascontiguousarray(queries)), products, strict=True):
            products_with_half(halves, query, row)
        return products
    rows = np.empty((max(1, _BLOCK_BYTES // (4 * max(1, width))), width), np.float32)
    for first in range(0, n, len(rows)):
        some = slice(first, min(first + len(rows), n))
        block = rows[: some.stop - first]
        if converted:
            widen_rows(halves[some], block)
        else:
            block[:] = halves[some]
        np.matmul(queries, block.T, out=products[:, some])
    return products
