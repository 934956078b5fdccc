"""EM of topic models of pairs of texts: posteriors, their sums, folding-in.

A pair is a row of one matrix and a row of another one, which share the topic weights theta. Words
are gathered row by row: ``phi[w]`` is the chance of word w in each topic. Equations are those of
Gao, Toutanova and Yih (2011): E-step (4), (5), projection (9)-(13), M-step (6)-(8).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.guests.clickthrough.kernels.topic_projection import project
from ssi_core.kernels import jit_making, part_fast
from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.vectors import ask_to_read, ask_to_write

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

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
    first, last = 0.0, 0.0
    for i in range(m):
        both[i] = counts[0][i] if i < k else counts[1][i - k]
        if i < k:
            first += both[i]
        else:
            last += both[i]
    for i in range(m):
        signs[i] = 1.0 / first if i < k else -1.0 / last
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
        Probability of each word in each topic.
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
