"""Products of a matrix of texts with blocks of columns, read where it lies.

A block is worked off in slabs of 16 columns, as many at a time as there are threads. Each slab is
one pass over the rows in their order, in float64: results do not depend on the number of threads,
and the matrix is never copied, nor turned into float64.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ssi_core.kernels.sparse import add_gram, add_transposed, aligned_empty, csr, multiply
from ssi_core.kernels.vectors import LINE
from ssi_core.types import Float64, TextMatrix


class Products:
    """Products with a CSR matrix A (n, D).

    Parameters
    ----------
    matrix : CSR (n, D)
        Rows of texts, float32, which may be mapped.
    threads : int
        Slabs that are worked on at a time.
    """

    def __init__(self, matrix: TextMatrix, threads: int = 1) -> None:
        self._rows, self._columns = matrix.shape
        self._csr, self._threads = csr(matrix), threads

    def gram(self, block: Float64) -> Float64:
        """Return ``A'A block`` (D, k)."""
        return self._by_slabs(self._gram, block)

    def outer(self, block: Float64) -> Float64:
        """Return ``AA' block`` (n, k)."""
        return self._by_slabs(lambda slab: self._times(self._transposed(slab)), block)

    def transposed(self, block: Float64) -> Float64:
        """Return ``A' block`` (D, k)."""
        return self._by_slabs(self._transposed, block)

    def _gram(self, slab: Float64) -> Float64:
        out = _zeros(self._columns)
        add_gram(self._csr, slab, out, _zeros(1)[0])
        return out

    def _times(self, slab: Float64) -> Float64:
        out = _zeros(self._rows)
        multiply(self._csr, slab, out)
        return out

    def _transposed(self, slab: Float64) -> Float64:
        out = _zeros(self._columns)
        add_transposed(self._csr, slab, out)
        return out

    def _by_slabs(self, product: Callable[[Float64], Float64], block: Float64) -> Float64:
        starts = range(0, block.shape[1], LINE)
        slabs = (_slab(block[:, first : first + LINE]) for first in starts)
        with ThreadPoolExecutor(self._threads) as pool:
            products = list(pool.map(product, slabs))
        return np.concatenate(products, axis=1)[:, : block.shape[1]]


def _slab(columns: Float64) -> Float64:
    """Return up to 16 columns as kernels have them, with zeros beside."""
    slab = _zeros(len(columns))
    slab[:, : columns.shape[1]] = columns
    return slab


def _zeros(rows: int) -> Float64:
    slab: Float64 = aligned_empty(rows, 2 * LINE).view(np.float64)
    slab[:] = 0
    return slab
