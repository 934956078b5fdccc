"""Profiles: tokens that tell a cluster from all users, and a user from all and from the cluster.

A cluster is written down as its best tokens against the distribution of all users (6), a user as
the best tokens against all users, and as the best against what is written down of the cluster (7).

Source: X. Shi and others, A compression framework for generating user profiles (2010), sections 2
and 4.2: 50 tokens of each. How much is added to counts, and how many clusters there are, is not in
its text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Weight
from ssi_core.estimator import Estimator, Sizes
from ssi_core.guests.profiles.divergence import (
    contributions,
    divergence,
    encode,
    seen,
    select,
    smoothed,
)
from ssi_core.guests.profiles.mixture import Mixture, fit_mixture
from ssi_core.types import BadInput, Float64, Int64

Tokens = Annotated[int, Field(ge=1, le=10**6)]
Clusters = Annotated[int, Field(ge=1, le=10**5)]


@dataclass(frozen=True)
class Profiler(Estimator):
    """Hyper-parameters of profiles.

    Parameters
    ----------
    clusters : int
        Clusters of users.
    tokens : int
        Most tokens of each part of a profile.
    alpha : float
        What is added to each count of all users and of a cluster.
    alpha_user : float
        What is added to each count of a user.
    starts : int
        Starts of the clustering, of which the best is kept.
    seed : int
        Seed of every random choice.
    """

    name: ClassVar[str] = "profiler"
    clusters: Clusters = 30
    tokens: Tokens = 50
    alpha: Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)] = 0.1
    alpha_user: Weight = 0.001
    starts: Annotated[int, Field(ge=1, le=1000)] = 3
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the distributions, by the number of "tokens"."""
        tokens = sizes["tokens"]
        return {
            "common": ArraySpec("float64", (tokens,), least=0, most=1),
            "theta": ArraySpec("float64", (self.clusters, tokens), least=0, most=1),
            "share": ArraySpec("float64", (self.clusters,), least=0, most=1),
        }

    def fit(self, counts: sparse.csr_array) -> FittedProfiler:
        """Learn the distribution of all users and the clusters.

        Parameters
        ----------
        counts : CSR float64 (users, N)
            How often each user did what a token names.

        Raises
        ------
        BadInput
            There are fewer users than clusters.
        """
        if counts.shape[0] < self.clusters:
            raise BadInput(
                f"clusters={self.clusters}: there are {counts.shape[0]} users. Use fewer clusters."
            )
        common = smoothed(np.asarray(counts.sum(axis=0), np.float64).ravel(), self.alpha)
        mixture = fit_mixture(
            counts, self.clusters, alpha=self.alpha, starts=self.starts, seed=self.seed
        )
        return FittedProfiler.of(self, common, mixture.theta, mixture.share)


@dataclass(frozen=True)
class Profiles:
    """Profiles of users; a value is the token's part of the user's actions, 0 where not kept.

    Attributes
    ----------
    cluster : int64 (users,)
        Cluster of each user.
    against_all, against_cluster : CSR (users, N)
        theta of the tokens that are kept against all users, and against the cluster.
    bits_all, bits_cluster : CSR (users, N)
        d of these tokens.
    """

    cluster: Int64
    against_all: sparse.csr_array
    against_cluster: sparse.csr_array
    bits_all: sparse.csr_array
    bits_cluster: sparse.csr_array


@dataclass(frozen=True)
class FittedProfiler:
    """The distribution of all users, and the clusters.

    Attributes
    ----------
    profiler : Profiler
        Hyper-parameters.
    common : float64 (N,)
        Distribution of all users.
    theta : float64 (clusters, N)
        Distribution of each cluster.
    share : float64 (clusters,)
        Share of the users in each cluster.
    encoded, bits : float64 (clusters, N)
        What is written down of each cluster; see `divergence.encode`.
    """

    profiler: Profiler
    common: Float64
    theta: Float64
    share: Float64
    encoded: Float64
    bits: Float64

    @classmethod
    def of(
        cls, profiler: Profiler, common: Float64, theta: Float64, share: Float64
    ) -> FittedProfiler:
        """Write down the clusters."""
        return cls(profiler, common, theta, share, *encode(theta, common, profiler.tokens))

    def assign(self, counts: sparse.csr_array) -> Int64:
        """Return the likeliest cluster of each user, int64 (users,)."""
        return Mixture(self.theta, self.share, ()).assign(counts)

    def profile(self, counts: sparse.csr_array) -> Profiles:
        """Find the cluster and the tokens of users.

        Parameters
        ----------
        counts : CSR float64 (users, N)
            How often each user did what a token names.
        """
        cluster = self.assign(counts)
        theta = seen(counts, self.profiler.alpha_user)
        everybody = np.zeros(len(cluster), np.int64)
        chosen = [
            select(contributions(theta, codes, groups), self.profiler.tokens)
            for codes, groups in ((self.common[None, :], everybody), (self.encoded, cluster))
        ]
        kept = [theta.multiply(bits.sign()).tocsr() for bits in chosen]
        return Profiles(cluster, *kept, *chosen)

    def describe(self, counts: sparse.csr_array) -> dict[str, Any]:
        """Measure what codes cost users, and what is kept of them.

        Returns
        -------
        dict
            ``bits``: for each code ("all", "cluster", "encoded cluster", "profile") the mean
            D(user||code) and the share of users with at most 0.7 bits; ``tokens``: mean number of
            tokens of a user, and of those in each part of the profile.
        """
        profiles, alpha = self.profile(counts), self.profiler.alpha_user
        everybody = np.zeros(counts.shape[0], np.int64)
        costs = {
            "all": divergence(counts, alpha, self.common[None, :], everybody),
            "cluster": divergence(counts, alpha, self.theta, profiles.cluster),
            "encoded cluster": divergence(counts, alpha, self.encoded, profiles.cluster),
        }
        parts = {"raw": counts, "all": profiles.bits_all, "cluster": profiles.bits_cluster}
        return {
            "users": counts.shape[0],
            "bits": {
                name: {"mean": float(cost.mean()), "within": float((cost <= 0.7).mean())}
                for name, cost in costs.items()
            },
            "tokens": {name: float(np.diff(part.indptr).mean()) for name, part in parts.items()},
        }
