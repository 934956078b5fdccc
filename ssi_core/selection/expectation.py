"""What a training is expected to gain, by what other collections gained and what validation saw.

The gain g of a trained model over the strongest that learns nothing is a difference of means over
queries. Before anything is measured it is taken to be normal, with a mean that grows with the
number of training pairs n and a spread between collections (`PRIORS`)::

    g ~ N(m, s^2),   m = a + b log10(n / 1000)

Validation sees the differences d of q queries. Their variance is estimated together with that of
other collections, as if `_QUERIES` more queries had been seen, so that a few equal values do not
pass for certainty::

    v = (_QUERIES _DEVIATION^2 + sum (d - mean d)^2) / (_QUERIES + q)
    E[g | d] = (m / s^2 + q mean(d) / v) / (1 / s^2 + q / v)

A model is taken if its expected gain is above 0 and the highest: with many queries this is the
higher mean, with few it is what usually happens.
"""

from __future__ import annotations

from math import exp, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr  # scipy.stats would take a CPU second, and 40 MB

from ssi_core.types import Float64


class Prior(NamedTuple):
    """Gain that is expected before anything is measured: its mean, and the spread around it."""

    mean: float
    spread: float


class _Line(NamedTuple):
    at_thousand: float
    per_tenfold: float
    spread: float


PRIORS = {
    "documents": _Line(0.060, 0.030, 0.140),
    "queries": _Line(0.005, 0.003, 0.020),
}
"""Queries that are documents themselves, answered by what they link to, and all others.

``python -m benchmarks.expect --lines`` makes them of the collections of docs/expect.md. The spread
is the root mean square of what the lines of all other collections miss.
"""

_DEVIATION, _QUERIES = 0.2, 20
LEAST = 0.002
"""Expected gain below which no training is begun."""


def prior(kind: str, pairs: int) -> Prior:
    """Return what a kind of queries gains with so many training pairs."""
    line = PRIORS[kind]
    mean = line.at_thousand + line.per_tenfold * np.log10(max(1, pairs) / 1000)
    return Prior(float(mean), line.spread)


def expected(before: Prior, differences: Float64) -> float:
    """Return the expected gain of a model after its differences on validation queries.

    >>> before = Prior(-0.01, 0.02)
    >>> round(expected(before, np.array([0.1, 0.3])), 4)
    -0.0056
    >>> round(expected(before, np.tile([0.1, 0.3, -0.2], 400)), 2)
    0.06
    """
    q = len(differences)
    precision = q / _variance(q, float(((differences - differences.mean()) ** 2).sum()))
    mean = float(differences.mean())
    return (before.mean / before.spread**2 + precision * mean) / (1 / before.spread**2 + precision)


def worth(before: Prior, queries: int) -> float:
    """Return what is expected of measuring on so many queries, and taking what is better then.

    It is the mean of ``max(0, E[g | d])`` over what the queries may show.

    >>> worth(Prior(-0.01, 0.02), 2) < LEAST < worth(Prior(-0.01, 0.02), 500)
    True
    """
    noise = _DEVIATION**2 / max(1, queries)
    sd = before.spread**2 / np.sqrt(before.spread**2 + noise)
    z = before.mean / sd
    return float(before.mean * ndtr(z) + sd * exp(-(z**2) / 2) / sqrt(2 * pi))


def _variance(queries: int, squares: float) -> float:
    return (_QUERIES * _DEVIATION**2 + squares) / (_QUERIES + queries)
