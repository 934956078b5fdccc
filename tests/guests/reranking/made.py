"""Pairs that a test makes up."""

import numpy as np
import polars as pl

from ssi_core.guests.reranking.pairs import PairFeatures


def pairs(sizes, features=4, *, seed=0, weights=None, noise=0.3, levels=3):
    """Pairs whose grades follow a linear score; the features are uniform in 0..1."""
    rng = np.random.default_rng(seed)
    rows = int(sum(sizes))
    values = rng.random((rows, features))
    weights = np.arange(features, 0, -1) if weights is None else np.asarray(weights)
    score = values @ weights + noise * rng.normal(size=rows)
    bounds = np.quantile(score, np.linspace(0.5, 0.9, levels - 1))
    return PairFeatures(
        values,
        np.searchsorted(bounds, score).astype(np.int32),
        pl.Series([f"q{n}" for n in range(len(sizes))], dtype=pl.String),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        pl.Series([f"d{n}" for n in range(rows)], dtype=pl.String),
        tuple(str(n) for n in range(1, features + 1)),
    )


def of(lists):
    """Pairs of one feature: a list of (grade, value) for each query."""
    rows = [row for one in lists for row in one]
    return PairFeatures(
        np.array([[float(value)] for _, value in rows]),
        np.array([grade for grade, _ in rows], np.int32),
        pl.Series([str(n) for n in range(len(lists))], dtype=pl.String),
        np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64),
        pl.Series([str(n) for n in range(len(rows))], dtype=pl.String),
        ("1",),
    )
