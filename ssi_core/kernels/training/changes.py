"""Rows that a training has changed: which they are, their copies, and their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ssi_core.kernels import jit, jit_fast
from ssi_core.kernels.vectors import widened


@jit
def mark_words(texts: Any, indptr: Any, indices: Any, words: Any) -> None:
    """Mark the words of marked texts.

    Parameters
    ----------
    texts, words : bool arrays
        Of the rows and columns of a CSR matrix; no mark is taken away.
    indptr, indices : int64 and int32 arrays
        Of the matrix.
    """
    for row in range(texts.shape[0]):
        if texts[row]:
            for t in range(indptr[row], indptr[row + 1]):
                words[indices[t]] = True


@jit
def copy_rows(source: Any, target: Any, marked: Any) -> None:
    """Copy the marked rows of a matrix into one of the same shape."""
    for row in range(source.shape[0]):
        if marked[row]:
            for column in range(source.shape[1]):
                target[row, column] = source[row, column]


@jit_fast
def _squares(matrix: Any, row: int) -> float:
    total = 0.0
    for column in range(matrix.shape[1]):
        number = np.float64(widened(matrix[row, column]))
        total += number * number
    return total


@jit
def within(matrix: Any, marked: Any, bound: np.float32) -> bool:
    """Tell whether all numbers of the marked rows are between ``-bound`` and ``bound``."""
    for row in range(matrix.shape[0]):
        # NaN is neither below nor above a bound.
        if marked[row] and not _squares(matrix, row) < np.float64(bound) * bound:
            for column in range(matrix.shape[1]):
                if not -bound < widened(matrix[row, column]) < bound:
                    return False
    return True
