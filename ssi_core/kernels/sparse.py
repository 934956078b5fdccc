"""Rows of CSR matrices met with rows of dense ones: the two halves of every training step.

`gather` and `scatter` run as written without the JIT; compiled they are `vectors`' loops.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_fast
from ssi_core.kernels.vectors import LINE, add_to_rows, ask_to_read, sum_rows, widened


def read_only(array: Any) -> Any:
    """Return a view that nobody writes to: mapped from a file or not, it is of one type."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


class Csr(NamedTuple):
    """A CSR matrix as a kernel sees it: int64 indptr, int32 indices, float32 data, read-only."""

    indptr: Any
    indices: Any
    data: Any


def csr(matrix: Any) -> Csr:
    """Wrap a scipy CSR matrix without a copy where its types allow; one type, mapped or not."""
    return Csr(
        read_only(np.asarray(matrix.indptr, np.int64)),
        read_only(np.asarray(matrix.indices, np.int32)),
        read_only(np.asarray(matrix.data, np.float32)),
    )


def count_frequent(in_documents: Any, least: float) -> int:
    """Return how many of the first words are frequent: in the mean, in ``least`` documents each.

    >>> count_frequent(np.array([9, 1, 0, 6, 0]), 4)
    4
    """
    means = np.cumsum(in_documents) / np.arange(1, len(in_documents) + 1)
    enough = np.flatnonzero(means >= least)
    return int(enough[-1]) + 1 if len(enough) else 0


def aligned_empty(rows: int, columns: int) -> Any:
    """Float32 (rows, columns) whose base and rows start on cache lines, if columns are padded."""
    bytes_ = rows * columns * 4
    buffer = np.empty(bytes_ + 64, np.uint8)
    start = -buffer.ctypes.data % 64
    return buffer[start : start + bytes_].view(np.float32).reshape(rows, columns)


def padded(dimensions: int) -> int:
    """Row length for an embedding: the next multiple of a cache line."""
    return -(-dimensions // LINE) * LINE


def halved(embedding: Any) -> Any:
    """Return an embedding as kernels have it in float16: uint16, rows of the same padded length."""
    rows, width = embedding.shape
    half = aligned_empty(rows, width // 2).view(np.uint16).reshape(rows, width)
    with np.errstate(over="ignore"):
        floats(half)[:] = embedding
    return half


def floats(embedding: Any) -> Any:
    """Return a view of an embedding as numbers: of uint16 as float16."""
    return embedding.view(np.float16) if embedding.dtype == np.uint16 else embedding


def gather(embedding: Any, matrix: Csr, row: int, out: Any) -> None:
    """Compute ``out = sum_w x_w embedding[w]`` over the non-zeros of one row.

    The width of the embedding is a multiple of `vectors.LINE`, see `padded`.
    """
    out[:] = 0
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        out += matrix.data[t] * floats(embedding)[matrix.indices[t]]


@overload(gather, jit_options={"_nrt": False})
def _gather(embedding: Any, matrix: Csr, row: int, out: Any) -> Any:
    def compiled(embedding: Any, matrix: Csr, row: int, out: Any) -> None:
        first, last = matrix.indptr[row], matrix.indptr[row + 1]
        sum_rows(embedding, matrix.indices, matrix.data, first, last, out, np.float32(1))

    return compiled


def scatter(embedding: Any, matrix: Csr, row: int, scale: np.float32, direction: Any) -> None:
    """Add ``scale x_w direction`` to ``embedding[w]`` for every non-zero of one row.

    The width as in `gather`.
    """
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        word = matrix.indices[t]
        moved = floats(embedding)[word] + scale * matrix.data[t] * direction
        floats(embedding)[word] = moved


@overload(scatter, jit_options={"_nrt": False})
def _scatter(embedding: Any, matrix: Csr, row: int, scale: np.float32, direction: Any) -> Any:
    def compiled(embedding: Any, matrix: Csr, row: int, scale: np.float32, direction: Any) -> None:
        first, last = matrix.indptr[row], matrix.indptr[row + 1]
        add_to_rows(embedding, matrix.indices, matrix.data, first, last, direction, scale)

    return compiled


@jit
def product(matrix: Csr, embedding: Any, out: Any) -> None:
    """Compute ``out = matrix @ embedding[:, :N]`` for ``out`` (rows, N), as exactly as scipy does.

    The embedding is C-ordered, and its rows may be longer than N.
    """
    last = matrix.indices.shape[0] - 1
    for row in range(out.shape[0]):
        for r in range(out.shape[1]):
            out[row, r] = 0
        for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
            ask_to_read(embedding, matrix.indices[min(t + _AHEAD, last)])
            word, x = matrix.indices[t], matrix.data[t]
            for r in range(out.shape[1]):
                out[row, r] += x * widened(embedding[word, r])


_AHEAD = 8
"""Rows that are asked for before they are read."""


@jit
def multiply(matrix: Csr, block: Any, out: Any) -> None:
    """Compute ``out = matrix @ block``, float64, as `gather` does."""
    for row in range(out.shape[0]):
        gather(block, matrix, row, out[row])


@jit
def add_transposed(matrix: Csr, block: Any, out: Any) -> None:
    """Compute ``out += matrix.T @ block``, float64, row by row of the matrix."""
    for row in range(block.shape[0]):
        scatter(out, matrix, row, np.float32(1), block[row])


@jit
def add_gram(matrix: Csr, block: Any, out: Any, scratch: Any) -> None:
    """Compute ``out += matrix.T @ (matrix @ block)``, float64, in one pass over the matrix."""
    for row in range(matrix.indptr.shape[0] - 1):
        gather(block, matrix, row, scratch)
        scatter(out, matrix, row, np.float32(1), scratch)


@jit_fast
def dot(a: Any, b: Any) -> np.float32:
    """Inner product of two dense vectors."""
    total = np.float32(0)
    for r in range(a.shape[0]):
        total += a[r] * b[r]
    return total


@jit
def spread(matrix: Csr, row: int, scratch: Any) -> None:
    """Write one row into a dense scratch that holds zeros."""
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        scratch[matrix.indices[t]] = matrix.data[t]


@jit
def clear(matrix: Csr, row: int, scratch: Any) -> None:
    """Put back the zeros that `spread` wrote over."""
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        scratch[matrix.indices[t]] = 0


@jit_fast
def dot_spread(matrix: Csr, row: int, scratch: Any) -> np.float32:
    """Inner product of one row with a dense scratch."""
    total = np.float32(0)
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        total += matrix.data[t] * scratch[matrix.indices[t]]
    return total


@jit
def contains(indptr: Any, indices: Any, row: int, column: int) -> bool:
    """Tell whether a row of a CSR pattern with sorted indices has a column, by binary search."""
    low, high = indptr[row], indptr[row + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return bool(low < indptr[row + 1] and indices[low] == column)


@jit
def unit_rows(indptr: NDArray[np.int64], data: NDArray[np.float64]) -> None:
    """Divide each row by its Euclidean norm, in place; a row of zeros stays.

    The squares are added in the order of the row, so that a row alone comes out bit by bit as it
    does among others.
    """
    for row in range(len(indptr) - 1):
        total = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            total += data[i] * data[i]
        if total > 0.0:
            norm = math.sqrt(total)
            for i in range(indptr[row], indptr[row + 1]):
                data[i] /= norm
