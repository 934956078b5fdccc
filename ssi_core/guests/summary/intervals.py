"""Intervals of a mean over queries whose texts are shared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ssi_core.types import Float64, Int64


def groups_of(names: Sequence[str]) -> Int64:
    """Return the number of each name among the distinct ones, in their order."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int64)


def interval(
    values: Float64, groups: Int64, *, rounds: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % interval of a mean, by a bootstrap that draws groups.

    Queries on one text are not independent, so that all of a group are drawn together.

    Parameters
    ----------
    values : float64 (n,)
        A value for each query.
    groups : int64 (n,)
        Group of each query, 0 and on.
    rounds : int
        Number of resamples.
    seed : int
        Of the draws.
    """
    sums, counts = np.bincount(groups, values), np.bincount(groups)
    drawn = np.random.default_rng(seed).integers(0, len(sums), (rounds, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def totals(values: Float64, groups: Int64) -> Float64:
    """Return the sum of the values of each group: what a paired test over groups compares."""
    return np.bincount(groups, values).astype(np.float64)
