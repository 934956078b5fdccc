"""Dense vectors of documents that an index keeps as float16: half of its bytes.

All arithmetic is float32: rows are widened when they are read. For more than a few queries all
documents are, a block at a time, so that the wide ones stay in the cache for BLAS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.ranking.scores import products_with_half, widen_rows
from ssi_core.kernels.training.structs import read_only
from ssi_core.kernels.vectors import converts_float16
from ssi_core.types import Float32

_BLOCK_BYTES = 512 << 10
"""Of wide rows."""

_FEW = 4
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
    if converted and len(queries) <= _FEW:
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
