"""Rows of CSR matrices."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit


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
