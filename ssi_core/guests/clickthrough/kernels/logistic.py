"""The logistic loss of differences of cosines, pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from ssi_core.kernels import jit_fast


@jit_fast
def logistic_pairs(
    queries: Any, documents: Any, left: Any, right: Any, gamma: float, losses: Any, slopes: Any
) -> None:
    """Compute ``sum_j ln(1 + exp(-gamma (a'b_0 - a'b_j)))`` of each pair, and its slopes.

    Parameters
    ----------
    queries, documents : float array
        (n, N) and (m, N); rows of unit length, or zero.
    left : int array
        (pairs,): the query a of each pair.
    right : int array
        (pairs, 1 + negatives): its document b_0, then those that are to be told from it.
    gamma : float
        Steepness of the loss.
    losses : float64 (pairs,)
        Written.
    slopes : float array
        (pairs, 1 + negatives): written; the derivatives by the cosines.
    """
    for i in range(left.shape[0]):
        a = queries[left[i]]
        losses[i] = 0.0
        first = 0.0
        slopes[i, 0] = 0.0
        for j in range(right.shape[1]):
            b = documents[right[i, j]]
            cosine = a.dtype.type(0)
            for k in range(a.shape[0]):
                cosine += a[k] * b[k]
            if j == 0:
                first = cosine
                continue
            scaled = gamma * (first - cosine)
            # The exponential of a number below zero alone: it never overflows.
            small = np.exp(-abs(scaled))
            losses[i] += max(-scaled, 0.0) + np.log1p(small)
            slope = gamma * (small if scaled > 0 else 1.0) / (1.0 + small)
            slopes[i, 0] -= slope
            slopes[i, j] = slope
