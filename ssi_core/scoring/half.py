"""Inner products with documents whose dense vectors an index keeps as float16.

All arithmetic is float32: rows of float16, half of the bytes, are widened when they are read. For
more than a few queries all documents are, a block at a time, so that the wide ones stay in the
cache for BLAS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.ranking.scores import products_with_half, widen_rows
from ssi_core.kernels.sparse import read_only
from ssi_core.kernels.vectors import converts_float16
from ssi_core.types import Float32

_BLOCK_BYTES = 512 << 10
"""Of wide rows."""

_FEW_OF_HALVES = 4
"""Queries that read all documents by themselves."""


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
