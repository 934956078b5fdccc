"""Clusters of users: a mixture of multinomials, each user in the likeliest part.

    p(x) = sum_y p(x|y) p(y)                                                    (5)

Parts and users are found in turn: a user goes to the part that gives the user's tokens the highest
probability, and a part becomes the smoothed distribution of its users. It is k-means with the
Kullback-Leibler divergence for the distance. The paper does not say how its users were clustered.

Source: X. Shi and others, A compression framework for generating user profiles (2010), (4), (5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ssi_core.guests.profiles.divergence import smoothed
from ssi_core.types import Float64, Int64

_BESIDE = 10.0
"""Tokens of all users that a single user's distribution gets at the start."""


@dataclass(frozen=True)
class Mixture:
    """A mixture of distributions over tokens.

    Attributes
    ----------
    theta : float64 (parts, N)
        Distribution of each part, above 0.
    share : float64 (parts,)
        p(y): share of the users, smoothed by one user a part.
    objective : tuple of float
        Log-likelihood with the prior, in nats, after each pass of the best start; it never falls.
    """

    theta: Float64
    share: Float64
    objective: tuple[float, ...]

    def assign(self, counts: sparse.csr_array) -> Int64:
        """Return the likeliest part of each user, int64 (users,).

        Parameters
        ----------
        counts : CSR (users, N)
            How often each user did what a token names.
        """
        positions: Int64 = _joint(counts, self.theta, self.share).argmax(axis=1)
        return positions


def fit_mixture(
    counts: sparse.csr_array,
    parts: int,
    *,
    alpha: float = 0.1,
    starts: int = 3,
    passes: int = 50,
    seed: int = 0,
) -> Mixture:
    """Fit a mixture to users, and keep the best of several starts.

    Each start begins with the distributions of users drawn in turn, a user with the probability of
    the bits that the user costs too much in the best of the parts so far.

    Parameters
    ----------
    counts : CSR (users, N)
        How often each user did what a token names.
    parts : int
        Clusters.
    alpha : float
        What is added to each count of a part.
    starts, passes : int
        Starts, and most passes of each.
    seed : int
        Seed of the starts.
    """
    random = np.random.default_rng(seed)
    fitted = [_fitted(counts, parts, alpha, passes, random) for _ in range(starts)]
    return max(fitted, key=lambda one: one.objective[-1])


def _fitted(
    counts: sparse.csr_array, parts: int, alpha: float, passes: int, random: np.random.Generator
) -> Mixture:
    theta, share = _start(counts, parts, random), np.full(parts, 1 / parts)
    objective: list[float] = []
    clusters = _joint(counts, theta, share).argmax(axis=1)
    for _ in range(passes):
        theta, share = _parts(counts, clusters, parts, alpha)
        joint = _joint(counts, theta, share)
        prior = alpha * np.log(theta).sum() + np.log(share).sum()
        objective.append(float(joint[np.arange(len(clusters)), clusters].sum() + prior))
        moved = joint.argmax(axis=1)
        if np.array_equal(moved, clusters):
            break
        clusters = moved
    return Mixture(theta, share, tuple(objective))


def _start(counts: sparse.csr_array, parts: int, random: np.random.Generator) -> Float64:
    """Return the distributions of drawn users, each with some tokens of all users."""
    common = smoothed(np.asarray(counts.sum(axis=0), np.float64).ravel(), 1e-3)
    theta = np.empty((parts, counts.shape[1]))
    total = np.asarray(counts.sum(axis=1)).ravel()
    terms = counts.data * np.log(counts.data / np.repeat(total, np.diff(counts.indptr)))
    entropy = np.bincount(
        np.repeat(np.arange(len(total)), np.diff(counts.indptr)), terms, minlength=len(total)
    )
    best = np.full(len(total), -np.inf)
    for part in range(parts):
        weight = np.maximum(entropy - best, 0) if part else total
        weight = weight if weight.sum() > 0 else np.ones(len(total))
        user = random.choice(len(total), p=weight / weight.sum())
        mixed = counts[[user]].toarray()[0] + _BESIDE * common
        theta[part] = mixed / mixed.sum()
        best = np.maximum(best, counts @ np.log(theta[part]))
    return theta


def _parts(
    counts: sparse.csr_array, positions: Int64, parts: int, alpha: float
) -> tuple[Float64, Float64]:
    users = len(positions)
    member = sparse.csr_array((np.ones(users), (positions, np.arange(users))), shape=(parts, users))
    share = (np.bincount(positions, minlength=parts) + 1.0) / (users + parts)
    return smoothed((member @ counts).toarray(), alpha), share


def _joint(counts: sparse.csr_array, theta: Float64, share: Float64) -> Float64:
    joint: Float64 = counts @ np.log(theta).T + np.log(share)
    return joint
