"""One difference from those of several collections: what to expect on another one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ssi_core.types import Float64


@dataclass(frozen=True)
class Pooled:
    """A difference over a population of collections, of which some were seen.

    Attributes
    ----------
    mean : float
        Expected difference.
    low, high : float
        Bounds of its interval of confidence.
    p : float
        p-value of no difference on the mean.
    tau : float
        Standard deviation of the true differences between collections.
    next_low, next_high : float or None
        Bounds of the prediction interval, in which the true difference of another collection lies;
        None with fewer than three collections.
    """

    mean: float
    low: float
    high: float
    p: float
    tau: float
    next_low: float | None
    next_high: float | None


def random_effects(effects: ArrayLike, errors: ArrayLike, *, level: float = 0.05) -> Pooled:
    """Pool the differences of k collections by a random-effects model.

    The difference of a collection is ``y_c = mu + u_c + e_c`` with ``u ~ N(0, tau^2)`` and
    ``e_c ~ N(0, s_c^2)``. tau^2 is that of Paule and Mandel (1982), where the weighted sum of
    squares is its expectation; the interval is that of Hartung and Knapp (2001), with k - 1 degrees
    of freedom, never narrower than that of the normal model; the prediction interval that of
    Higgins, Thompson and Spiegelhalter (2009), with k - 2:

        w_c = 1 / (s_c^2 + tau^2),   mu = sum w_c y_c / sum w_c,
        q = max(1, 1/(k-1) sum w_c (y_c - mu)^2),   se^2 = q / sum w_c,
        mu +- t_{k-1} se,   mu +- t_{k-2} sqrt(tau^2 + se^2).

    Parameters
    ----------
    effects : float (collections,)
        Difference on each collection.
    errors : float (collections,)
        Their standard errors, above 0.
    level : float
        1 less the confidence of the intervals.

    Raises
    ------
    ValueError
        There are fewer than two collections, or an error is not above 0.
    """
    from scipy.special import stdtr, stdtrit

    y, s = np.asarray(effects, np.float64), np.asarray(errors, np.float64)
    k = len(y)
    if k < 2 or y.shape != s.shape:
        raise ValueError(f"effects, errors: shapes {y.shape}, {s.shape}, expected two or more")
    if not np.all((s > 0) & np.isfinite(s)):
        raise ValueError(f"errors={s.tolist()}, expected numbers above 0")
    tau2 = _between(y, s)
    w = 1 / (s**2 + tau2)
    mean = float(w @ y / w.sum())
    q = max(1.0, float(w @ (y - mean) ** 2) / (k - 1))
    error = float(np.sqrt(q / w.sum()))
    half = float(stdtrit(k - 1, 1 - level / 2)) * error
    ahead = float(stdtrit(k - 2, 1 - level / 2) * np.sqrt(tau2 + error**2)) if k > 2 else None
    return Pooled(
        mean,
        mean - half,
        mean + half,
        float(2 * stdtr(k - 1, -abs(mean) / error)),
        float(np.sqrt(tau2)),
        None if ahead is None else mean - ahead,
        None if ahead is None else mean + ahead,
    )


def _between(y: Float64, s: Float64) -> float:
    """Return tau^2 of Paule and Mandel: the sum of squares falls in it, and is k - 1 there."""
    from scipy.optimize import brentq

    def excess(tau2: float) -> float:
        w = 1 / (s**2 + tau2)
        return float(w @ (y - w @ y / w.sum()) ** 2) - (len(y) - 1)

    if excess(0.0) <= 0:
        return 0.0
    most = float(np.ptp(y)) ** 2 + 1e-300
    while excess(most) > 0:
        most *= 2
    return float(brentq(excess, 0.0, most, xtol=1e-18, rtol=1e-12))
