"""Dense vectors of documents that an index keeps as float16: half of its bytes.

All arithmetic is float32: rows are widened when they are read, those of all documents a block at a
time, so that the wide ones stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.scores import widen_rows
from ssi_core.kernels.structs import read_only
from ssi_core.kernels.vectors import converts_float16
from ssi_core.types import Float32

_BLOCK_BYTES = 512 << 10
"""Of wide rows."""


def wide(rows: NDArray[Any]) -> Float32:
    """Return rows that are float16 as float32, others as they are."""
    if rows.dtype != np.float16:
        return rows
    if rows.ndim != 2 or not converts_float16():
        return rows.astype(np.float32)
    widened = np.empty(rows.shape, np.float32)
    widen_rows(read_only(np.ascontiguousarray(rows).view(np.uint16)), widened)
    return widened


def inner_products(queries: Float32, documents: NDArray[Any]) -> Float32:
    """Return ``queries @ documents.T``, float32, of documents in float32 or float16."""
    if documents.dtype != np.float16:
        products: Float32 = queries @ documents.T
        return products
    n, width = documents.shape
    products = np.empty((len(queries), n), np.float32)
    block = max(1, _BLOCK_BYTES // (4 * max(1, width)))
    for first in range(0, n, block):
        some = slice(first, min(first + block, n))
        np.matmul(queries, wide(documents[some]).T, out=products[:, some])
    return products
