"""Missing values of features: NaN until a ranker reads them, then behind the worst of their query.

A system that did not return a document gives it no rank. 0 would be better than its best rank.
"""

from __future__ import annotations

import numpy as np

from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import Float64


def scaled(features: PairFeatures) -> PairFeatures:
    """Return pairs whose features are scaled to 0..1 over each query; missing values stay missing.

    A feature that has one value for all documents of a query becomes 0 there.
    """
    low, high, _ = _ends(features)
    sizes, present = features.sizes, ~np.isnan(features.values)
    span = np.repeat(high - low, sizes, axis=0)
    above = features.values - np.repeat(low, sizes, axis=0)
    values = np.where(present, 0.0, np.nan)
    np.divide(above, span, out=values, where=present & (span > 0))
    return features.with_values(values, features.names)


def learn_missing(features: PairFeatures) -> Float64:
    """Learn what stands for a missing value.

    Returns
    -------
    float64 (3, features)
        Direction: 1 where documents of a higher grade have higher values in a query than others, -1
        where they have lower ones. Step: the mean distance of neighbouring values of a query. Last:
        the mean of what a query fills in, for queries that have no value at all.
    """
    present = ~np.isnan(features.values)
    counts = np.add.reduceat(present, features.start[:-1], axis=0, dtype=np.int64)
    sums = np.add.reduceat(np.where(present, features.values, 0), features.start[:-1], axis=0)
    means = np.repeat(sums / np.maximum(counts, 1), features.sizes, axis=0)
    apart = np.where(present, features.values - means, 0)
    direction = np.where(features.grade @ apart < 0, -1.0, 1.0)
    low, high, steps = _ends(features)
    known = np.isfinite(steps)
    step = np.where(known, steps, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    step[step == 0] = 1.0
    last = _worst(low, high, direction) - direction * np.where(known, steps, step)
    filling = np.isfinite(last)
    mean = np.where(filling, last, 0).sum(axis=0) / np.maximum(filling.sum(axis=0), 1)
    return np.stack([direction, step, mean])


def filled(features: PairFeatures, learnt: Float64) -> PairFeatures:
    """Return pairs whose missing values are a step behind the worst value of their query.

    Parameters
    ----------
    features : PairFeatures
        Pairs.
    learnt : float64 (3, features)
        What `learn_missing` returned; a feature with direction 0 keeps its missing values.
    """
    missing = np.isnan(features.values)
    if not missing.any():
        return features
    direction, step, mean = learnt
    low, high, steps = _ends(features)
    last = _worst(low, high, direction) - direction * np.where(np.isfinite(steps), steps, step)
    last = np.where(np.isfinite(last), last, mean)
    last[:, direction == 0] = np.nan
    values = np.where(missing, np.repeat(last, features.sizes, axis=0), features.values)
    return features.with_values(values, features.names)


def _ends(features: PairFeatures) -> tuple[Float64, Float64, Float64]:
    """Return least and largest value, and mean distance of neighbours, of each query and feature.

    float64 (queries, features) each; NaN where there is no such value.
    """
    starts, present = features.start[:-1], ~np.isnan(features.values)
    low: Float64 = np.fmin.reduceat(features.values, starts, axis=0)
    high: Float64 = np.fmax.reduceat(features.values, starts, axis=0)
    counts = np.add.reduceat(present, starts, axis=0, dtype=np.int64)
    steps = (high - low) / np.maximum(counts - 1, 1)
    steps[~(steps > 0)] = np.nan
    return low, high, steps


def _worst(low: Float64, high: Float64, direction: Float64) -> Float64:
    worst: Float64 = np.where(direction > 0, low, high)
    return worst
