"""Distributions over tokens, and the tokens that contribute most to a Kullback-Leibler divergence.

    theta_z = (n_z + alpha) / (m + N alpha)                                     (4)
    D(p||q) = sum_z d(p||q|z),      d(p||q|z) = p_z log2(p_z / q_z)             (3)

d is the number of bits that a token of p costs too much, on average, in the code of q.

Source: X. Shi and others, A compression framework for generating user profiles (SIGIR workshop on
feature generation and selection, 2010), (3), (4), (6), (7).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ssi_core.types import Float64, Int64


def smoothed(counts: Float64, alpha: float) -> Float64:
    """Return theta of (4), float64 (..., N): each row sums to 1.

    Parameters
    ----------
    counts : float64 (..., N)
        How often each token was seen.
    alpha : float
        What is added to each count.
    """
    theta: Float64 = counts + alpha
    distribution: Float64 = theta / theta.sum(axis=-1, keepdims=True)
    return distribution


def seen(counts: sparse.csr_array, alpha: float) -> sparse.csr_array:
    """Return theta of the tokens that each user has; `rest` is that of each other token.

    Parameters
    ----------
    counts : CSR (users, N)
        Counts above 0.
    alpha : float
        What is added to each count.
    """
    total = np.asarray(counts.sum(axis=1)).ravel() + counts.shape[1] * alpha
    theta = (counts.data + alpha) / np.repeat(np.maximum(total, 1e-300), np.diff(counts.indptr))
    return _like(counts, theta)


def rest(counts: sparse.csr_array, alpha: float) -> Float64:
    """Return theta of each token that a user does not have, float64 (users,)."""
    total = np.asarray(counts.sum(axis=1)).ravel() + counts.shape[1] * alpha
    theta: Float64 = alpha / np.maximum(total, 1e-300)
    return theta


def contributions(theta: sparse.csr_array, codes: Float64, positions: Int64) -> sparse.csr_array:
    """Return d(p||q|z) of the tokens of each user, in bits.

    Parameters
    ----------
    theta : CSR (users, N)
        p of the tokens that a user has.
    codes : float64 (distributions, N)
        Distributions q above 0.
    positions : int64 (users,)
        Row of ``codes`` that is q of the user.
    """
    rows = np.repeat(positions, np.diff(theta.indptr))
    return _like(theta, theta.data * np.log2(theta.data / codes[rows, theta.indices]))


def divergence(counts: sparse.csr_array, alpha: float, codes: Float64, offsets: Int64) -> Float64:
    """Return D(p||q) of each user over all tokens, float64 (users,), in bits.

    Parameters
    ----------
    counts : CSR (users, N)
        How often each user did what a token names.
    alpha : float
        What is added to each count.
    codes : float64 (distributions, N)
        Distributions q above 0.
    offsets : int64 (users,)
        Row of ``codes`` that is q of the user.
    """
    theta, other = seen(counts, alpha), rest(counts, alpha)
    bits: Float64 = np.asarray(contributions(theta, codes, offsets).sum(axis=1), np.float64).ravel()
    if alpha == 0:
        return bits
    logs = np.log2(codes)
    known = _like(theta, logs[np.repeat(offsets, np.diff(theta.indptr)), theta.indices])
    unseen = counts.shape[1] - np.diff(counts.indptr)
    missing = logs.sum(axis=1)[offsets] - np.asarray(known.sum(axis=1)).ravel()
    result: Float64 = bits + other * (unseen * np.log2(other) - missing)
    return result


def select(bits: sparse.csr_array, most: int) -> sparse.csr_array:
    """Keep the ``most`` largest values above 0 of each row; of equal ones the first column.

    Parameters
    ----------
    bits : CSR (rows, N)
        Contributions.
    most : int
        Tokens of a row.
    """
    rows = np.repeat(np.arange(bits.shape[0]), np.diff(bits.indptr))
    order = np.lexsort((bits.indices, -bits.data, rows))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - bits.indptr[rows[order]]
    kept = (rank < most) & (bits.data > 0)
    parts = bits.data[kept], (rows[kept], bits.indices[kept])
    chosen = sparse.csr_array(parts, shape=bits.shape)
    chosen.sort_indices()
    return chosen


def encode(theta: Float64, base: Float64, most: int) -> tuple[Float64, Float64]:
    """Return the distributions that a reader of the kept tokens knows, and the bits of these.

    A kept token has its own probability; all others share what is left as ``base`` has them:

        q_z = theta_z                                               z is kept
        q_z = base_z (1 - sum_kept theta) / (1 - sum_kept base)     else

    Parameters
    ----------
    theta : float64 (distributions, N)
        Distributions above 0 to write down.
    base : float64 (N,)
        What the reader knows already.
    most : int
        Tokens that are kept of each, those of the largest d(theta||base|z) above 0.

    Returns
    -------
    encoded : float64 (distributions, N)
        Distributions above 0.
    bits : float64 (distributions, N)
        d of the kept tokens, 0 of the others.
    """
    bits = theta * np.log2(theta / base)
    order = np.argsort(-bits, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(theta.shape[1])[None, :], axis=1)
    kept = (rank < most) & (bits > 0)
    left = 1 - np.where(kept, theta, 0.0).sum(axis=1, keepdims=True)
    free = 1 - np.where(kept, base, 0.0).sum(axis=1, keepdims=True)
    share = np.divide(left, free, out=np.zeros_like(left), where=free > 0)
    return np.where(kept, theta, base * share), np.where(kept, bits, 0.0)


def _like(matrix: sparse.csr_array, values: Float64) -> sparse.csr_array:
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
