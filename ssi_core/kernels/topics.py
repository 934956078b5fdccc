"""EM of topic models of pairs of texts: posteriors, their projection, folding-in.

A pair is a row of one matrix and a row of another one, which share the topic weights theta. Words
are gathered row by row: ``phi[w]`` is the chance of word w in each topic. Equations are those of
Gao, Toutanova and Yih (2011): E-step (4), (5), projection (9)-(13), M-step (6)-(8).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit_making, part_fast
from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.vectors import ask_to_read, ask_to_write

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

_SHARES = 1e-5
"""Largest difference of the expected topic shares of the two texts after the projection."""
_STEPS, _HALVES = 60, 30
_FLAT = 1e-9
_AHEAD = 16
"""Words of a text whose rows are asked for at once."""
_FACTORS = 6
"""Weights that are multiplied before a logarithm is taken: float32 to this power is a float64."""


@part_fast
def _posteriors(words: Int32, phi: Float32, theta: Float64, into: Float64) -> None:
    """Fill ``into[i]`` with the chance of each topic for word i (4, 5), times its probability."""
    for i in range(len(words)):
        row = phi[words[i]]
        for z in range(len(theta)):
            into[i, z] = row[z] * theta[z]


@part_fast
def _divide(posteriors: Float64, counts: Float64) -> float:
    """Divide each row by its sum; return the log-likelihood of the words."""
    likelihood = 0.0
    for i in range(len(posteriors)):
        total = 0.0
        for z in range(posteriors.shape[1]):
            total += posteriors[i, z]
        scale = 1.0 / total
        for z in range(posteriors.shape[1]):
            posteriors[i, z] *= scale
        likelihood += counts[i] * np.log(total)
    return likelihood


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
    into[:] = scaled[m]
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


@part_fast
def _expect(
    words: Int32,
    counts: Float32,
    first: int,
    last: int,
    phi: Float32,
    weights: Float64,
    sums: Float64,
    shares: Float64,
) -> float:
    """Add the expected topics (4, 5) of the words of a text to their sums, and to its shares.

    Returns
    -------
    float
        Log-likelihood of the words.
    """
    likelihood = 0.0
    for i in range(first, last):
        if (i - first) % _AHEAD == 0:
            for coming in range(i, min(i + _AHEAD, last)):
                ask_to_read(phi, words[coming])
                ask_to_write(sums, words[coming])
        word, total = words[i], 0.0
        for z in range(len(weights)):
            total += phi[word, z] * weights[z]
        scale = counts[i] / total
        for z in range(len(weights)):
            expected = scale * (phi[word, z] * weights[z])
            shares[z] += expected
            sums[word, z] += expected
        likelihood += counts[i] * np.log(total)
    return likelihood


@jit_making
def _projected(
    words: tuple[Int32, Int32],
    counts: tuple[Float32, Float32],
    phi: tuple[Float32, Float32],
    weights: Float64,
    sums: tuple[Float64, Float64],
    shares: Float64,
    evaluations: Int64,
) -> float:
    """Add the projected topics of the words of a pair to their sums, and to its shares.

    Returns
    -------
    float
        Log-likelihood of the words less ``KL(P' || P)``.
    """
    k, m = len(words[0]), len(words[0]) + len(words[1])
    posteriors, both, signs = np.empty((m, len(weights))), np.empty(m), np.empty(m)
    _posteriors(words[0], phi[0], weights, posteriors[:k])
    _posteriors(words[1], phi[1], weights, posteriors[k:])
    both[:k], both[k:] = counts[0], counts[1]
    signs[:k], signs[k:] = 1.0 / both[:k].sum(), -1.0 / both[k:].sum()
    likelihood = _divide(posteriors, both)
    posteriors, divergence = project(posteriors, both, signs, evaluations)
    for i in range(m):
        sum_ = sums[0][words[0][i]] if i < k else sums[1][words[1][i - k]]
        for z in range(len(weights)):
            expected = both[i] * posteriors[i, z]
            shares[z] += expected
            sum_[z] += expected
    return likelihood - divergence


@part_fast
def _logarithms(product: Float64) -> float:
    """Return the sum of logarithms; put ones in their place."""
    total = 0.0
    for z in range(len(product)):
        total += np.log(product[z])
        product[z] = 1.0
    return total


@jit_making
def em_pass(
    left: Csr,
    right: Csr,
    pairs: Int32,
    theta: Float32,
    phi: tuple[Float32, Float32],
    sums: tuple[Float64, Float64],
    alpha: float,
    projected: bool,
    evaluations: Int64,
) -> tuple[float, float]:
    """Go once over pairs: add expected counts to ``sums``, and replace theta by (8).

    Parameters
    ----------
    left, right : Csr
        Counts of words of the two texts.
    pairs : int32 (n, 2)
        Row of the left matrix, row of the right one.
    theta : float32 (n, T)
        Topic weights of each pair; changed in place.
    phi : tuple of float32 (words, T)
        ``phi[0][w, z]`` is the chance of word w of the left texts in topic z; of the right texts.
        Both may be one array.
    sums : tuple of float64 (words, T)
        The sums of (6) and (7), added to. Both may be one array.
    alpha : float
        Dirichlet prior of theta, above 1.
    projected : bool
        Project the posteriors, see `project`.
    evaluations : int64 (2,)
        See `project`.

    Returns
    -------
    float
        Log-likelihood of the words under the values before, less ``KL(P' || P)`` where projected.
    float
        ``(alpha - 1) sum ln theta``, the logarithm of the prior of theta before.
    """
    topics = theta.shape[1]
    likelihood, prior = 0.0, 0.0
    weights, shares, product = np.empty(topics), np.empty(topics), np.ones(topics)
    for p in range(len(pairs)):
        for z in range(topics):
            weights[z] = theta[p, z]
            product[z] *= weights[z]
            shares[z] = alpha - 1.0
        if p % _FACTORS == _FACTORS - 1 or p == len(pairs) - 1:
            prior += (alpha - 1.0) * _logarithms(product)
        q, d = pairs[p, 0], pairs[p, 1]
        a, b = left.indptr[q], left.indptr[q + 1]
        c, e = right.indptr[d], right.indptr[d + 1]
        if projected and a < b and c < e:
            likelihood += _projected(
                (left.indices[a:b], right.indices[c:e]),
                (left.data[a:b], right.data[c:e]),
                phi,
                weights,
                sums,
                shares,
                evaluations,
            )
        else:
            likelihood += _expect(left.indices, left.data, a, b, phi[0], weights, sums[0], shares)
            likelihood += _expect(right.indices, right.data, c, e, phi[1], weights, sums[1], shares)
        total = 0.0
        for z in range(topics):
            total += shares[z]
        scale = 1.0 / total
        for z in range(topics):
            theta[p, z] = shares[z] * scale
    return likelihood, prior


@part_fast
def _share(word: Float32, count: float, weights: Float64, row: Float64, shares: Float64) -> None:
    """Add the expected topics of a word of a text to ``shares``."""
    total = 0.0
    for z in range(len(weights)):
        row[z] = word[z] * weights[z]
        total += row[z]
    scale = count / total
    for z in range(len(weights)):
        shares[z] += scale * row[z]


@jit_making
def fold_in(texts: Csr, phi: Float32, alpha: float, passes: int, theta: Float32) -> None:
    """Fill the topic weights of texts by EM with the words of the topics held fixed.

    Parameters
    ----------
    texts : Csr
        Counts of words of n texts.
    phi : float32 (words, T)
    alpha : float
        Dirichlet prior of theta, above 1.
    passes : int
        Rounds of EM, from equal weights.
    theta : float32 (n, T)
        Filled.
    """
    topics = theta.shape[1]
    weights, shares = np.empty(topics), np.empty(topics)
    row = np.empty(topics)
    for d in range(len(theta)):
        first, last = texts.indptr[d], texts.indptr[d + 1]
        weights[:] = 1.0 / topics
        for _ in range(passes):
            shares[:] = alpha - 1.0
            length = topics * (alpha - 1.0)
            for i in range(first, last):
                length += texts.data[i]
                _share(phi[texts.indices[i]], texts.data[i], weights, row, shares)
            for z in range(topics):
                weights[z] = shares[z] / length
        for z in range(topics):
            theta[d, z] = weights[z]
