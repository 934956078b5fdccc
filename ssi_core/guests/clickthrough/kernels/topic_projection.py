"""Projection of the topics of a pair's words, so that both texts have the same expected shares.

Gao, Toutanova and Yih (2011), (9)-(13) and appendix A, by Newton's method on the dual.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit_making, part_fast

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

_SHARES = 1e-5
"""Largest difference of the expected topic shares of the two texts after the projection."""
_STEPS, _HALVES = 60, 30
_FLAT = 1e-9


@part_fast
def _tilted(
    posteriors: Float64,
    weights: Float64,
    signs: Float64,
    multipliers: Float64,
    factors: Float64,
    into: Float64,
) -> float:
    """Fill ``into`` with the rows of (10), (11); return the dual, ``-sum c ln Z``.

    Parameters
    ----------
    posteriors : float64 (m, T)
        P, rows of sum 1.
    weights : float64 (m,)
        How often each word occurs.
    signs : float64 (m,)
        ``1 / |q|`` of a word of the query, ``-1 / |d|`` of the document.
    multipliers : float64 (T,)
        lambda.
    factors : float64 (T,)
        Scratch.
    """
    dual, highest = 0.0, 0.0
    for i in range(len(weights)):
        if i == 0 or signs[i] != signs[i - 1]:  # all words of a text have the same factors
            highest = -np.inf
            for z in range(len(multipliers)):
                highest = max(highest, -multipliers[z] * signs[i])
            for z in range(len(multipliers)):
                factors[z] = np.exp(-multipliers[z] * signs[i] - highest)
        total = 0.0
        for z in range(len(multipliers)):
            value = posteriors[i, z] * factors[z]
            into[i, z] = value
            total += value
        scale = 1.0 / total
        for z in range(len(multipliers)):
            into[i, z] *= scale
        dual -= weights[i] * (np.log(total) + highest)
    return dual


@part_fast
def _gradient(tilted: Float64, weights: Float64, signs: Float64, into: Float64) -> float:
    """Fill ``into`` with (13); return its largest absolute value."""
    into[:] = 0.0
    for i in range(len(weights)):
        factor = weights[i] * signs[i]
        for z in range(len(into)):
            into[z] += factor * tilted[i, z]
    largest = 0.0
    for z in range(len(into)):
        largest = max(largest, abs(into[z]))
    return largest


@part_fast
def _inner(left: Float64, i: int, right: Float64, j: int) -> float:
    """Return the inner product of two rows."""
    total = 0.0
    for z in range(left.shape[1]):
        total += left[i, z] * right[j, z]
    return total


@part_fast
def _dot(left: Float64, right: Float64) -> float:
    """Return the inner product."""
    total = 0.0
    for z in range(len(left)):
        total += left[z] * right[z]
    return total


@jit_making
def _newton(
    tilted: Float64, weights: Float64, signs: Float64, gradient: Float64, into: Float64
) -> float:
    """Fill ``into`` with the step ``H^-1 g``; return ``g' H^-1 g``.

    ``H = diag(h) - sum_i b_i p_i p_i'`` with ``b_i = c_i a_i^2`` and ``h = sum_i b_i p_i`` is minus
    the second derivative of the dual. It has the rank of few words beside its diagonal, so that a
    system of one row for each word is solved (Woodbury), by Cholesky.
    """
    m, topics = tilted.shape
    h = np.full(topics, _FLAT)
    for i in range(m):
        curvature = weights[i] * signs[i] * signs[i]
        for z in range(topics):
            h[z] += curvature * tilted[i, z]
    scaled = np.empty((m + 1, topics))  # rows over h; the last one is the gradient
    for z in range(topics):
        h[z] = 1.0 / h[z]
        scaled[m, z] = gradient[z] * h[z]
    small, right = np.empty((m, m)), np.empty(m)
    for i in range(m):
        for z in range(topics):
            scaled[i, z] = tilted[i, z] * h[z]
        right[i] = _inner(tilted, i, scaled, m)
        for j in range(i + 1):
            small[i, j] = -_inner(tilted, i, scaled, j)
        small[i, i] += 1.0 / (weights[i] * signs[i] * signs[i])
    # Cholesky in place, then L y = right and L' x = y.
    for i in range(m):
        for j in range(i + 1):
            total = small[i, j]
            for k in range(j):
                total -= small[i, k] * small[j, k]
            if i == j:
                small[i, i] = np.sqrt(max(total, 1e-12))
            else:
                small[i, j] = total / small[j, j]
    for i in range(m):
        for k in range(i):
            right[i] -= small[i, k] * right[k]
        right[i] /= small[i, i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            right[i] -= small[k, i] * right[k]
        right[i] /= small[i, i]
    for z in range(topics):  # to assign a slice to a slice takes seconds to compile
        into[z] = scaled[m, z]
    for i in range(m):
        for z in range(topics):
            into[z] += right[i] * scaled[i, z]
    return _dot(into, gradient)


@jit_making
def project(
    posteriors: Float64, weights: Float64, signs: Float64, evaluations: Int64
) -> tuple[Float64, float]:
    """Project topic posteriors so that both texts have the same expected topic shares (9).

    The dual is raised by Newton's method; a step that does not raise it is halved.

    Parameters
    ----------
    posteriors : float64 (m, T)
        A row for each distinct word of the two texts; each sums to 1, all are above 0.
    weights : float64 (m,)
        How often each word occurs.
    signs : float64 (m,)
        ``1 / |q|`` of a word of the query, ``-1 / |d|`` of the document.
    evaluations : int64 (2,)
        Counts of evaluations of the dual, and of its gradient, are added here.

    Returns
    -------
    float64 (m, T)
        The projected posteriors.
    float
        ``KL(P' || P)`` over all words.
    """
    topics = posteriors.shape[1]
    multipliers, gradient = np.zeros(topics), np.zeros(topics)
    step, other, factors = np.zeros(topics), np.zeros(topics), np.empty(topics)
    best, tried = np.empty_like(posteriors), np.empty_like(posteriors)
    dual = _tilted(posteriors, weights, signs, multipliers, factors, best)
    evaluations[0] += 1
    for _ in range(_STEPS):
        evaluations[1] += 1
        if _gradient(best, weights, signs, gradient) <= _SHARES:
            break
        slope, length = _newton(best, weights, signs, gradient, step), 1.0
        raised = False
        for _ in range(_HALVES):
            mean = 0.0
            for z in range(topics):
                other[z] = multipliers[z] + length * step[z]
                mean += other[z] / topics
            for z in range(topics):
                other[z] -= mean  # the dual is flat along it
            value = _tilted(posteriors, weights, signs, other, factors, tried)
            evaluations[0] += 1
            if value >= dual + 1e-4 * length * slope:
                raised = True
                break
            length /= 2
        if not raised:
            break
        multipliers, other, best, tried, dual = other, multipliers, tried, best, value
    # sum c P' (ln P' - ln P) = dual - lambda . g, and g is nearly 0.
    _gradient(best, weights, signs, gradient)
    divergence = dual
    for z in range(topics):
        divergence -= multipliers[z] * gradient[z]
    return best, max(0.0, divergence)
