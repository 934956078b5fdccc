"""Intervals of the clicks that a ranker would get, by a bootstrap over the sessions of a log.

Policy and propensities are estimated anew for every resample: intervals that take estimates for the
truth are too narrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from ssi_core.guests.off_policy.off_policy import ESTIMATORS, OffPolicy, Support
from ssi_core.types import BadInput

_NORMAL = 1.959964
LEAST_VISITS = 10.0
"""Effective visits below which an interval covers the truth far too seldom to be shown."""


@dataclass(frozen=True)
class Estimate(Support):
    """Estimate of the clicks that a ranker would get, and the support of the log for it.

    Attributes
    ----------
    value, low, high : float
        Expected clicks a visit, and its 95 % interval.
    gain, gain_low, gain_high : float
        The same for the difference to what was logged.
    """

    value: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float


def bootstrap(problem: OffPolicy, *, rounds: int = 1000, seed: int = 0) -> pl.DataFrame:
    """Draw the sessions again with replacement, and estimate all anew.

    Parameters
    ----------
    problem : OffPolicy
        What is estimated.
    rounds : int
        Number of resamples.
    seed : int
        Random seed of the draws.

    Returns
    -------
    frame of float64, a row for each resample
        A column for each of `ESTIMATORS`, and ``logged``.
    """
    rng = np.random.default_rng(seed)
    n = problem.log.sessions
    drawn = (np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(rounds))
    return pl.DataFrame([problem.estimate(problem.log.count(times)) for times in drawn])


def estimate_clicks(
    problem: OffPolicy,
    *,
    rounds: int = 1000,
    seed: int = 0,
    most_unseen: float = 0.0,
    least_visits: float = LEAST_VISITS,
) -> dict[str, Estimate | None]:
    """Return what each estimator says; None where the log lacks support for it.

    The interval is the estimate plus and minus 1.96 standard deviations of its resamples.

    Parameters
    ----------
    problem : OffPolicy
        What is estimated.
    rounds, seed : int
        Number of resamples, and their random seed.
    most_unseen : float
        Largest share of the ranker's places that the log may say nothing of. Such places count
        no click, and the upper end of the interval is raised as if each were clicked.
    least_visits : float
        Effective visits that an estimator needs.

    Returns
    -------
    dict
        ``logged``, what the log itself has, and each of `ESTIMATORS`.

    Raises
    ------
    BadInput
        No estimator has support.
    """
    counts = problem.log.count()
    facts = problem.facts(counts)
    lacks = {name: lacking(facts[name], most_unseen, least_visits) for name in ESTIMATORS}
    supported = [name for name in ESTIMATORS if lacks[name] is None]
    if not supported:
        seen = [name for name in ESTIMATORS if facts[name].never_shown <= most_unseen]
        raise BadInput(_too_few(facts, seen, least_visits) if seen else _without_support(facts))
    value, resamples = problem.estimate(counts), bootstrap(problem, rounds=rounds, seed=seed)
    length = counts.shown.sum() / counts.visits.sum()
    estimates: dict[str, Estimate | None] = dict.fromkeys(("logged", *ESTIMATORS))
    for name in ("logged", *supported):
        gains = resamples[name] - resamples["logged"]
        unseen = facts[name].never_shown * length
        clicks = _interval(value[name], resamples[name], unseen)
        gain = _interval(value[name] - value["logged"], gains, unseen)
        support = facts[name].visits, facts[name].never_shown, facts[name].mean_weight
        estimates[name] = Estimate(*support, *clicks, *gain)
    return estimates


def lacking(support: Support, most_unseen: float, least_visits: float) -> str | None:
    """Return what an estimator lacks, in words; None where it is supported."""
    if support.never_shown > most_unseen:
        return f"{support.never_shown:.1%} of the places never shown"
    if support.visits < least_visits:
        return f"{support.visits:.1f} effective visits, fewer than {least_visits:g}"
    return None


def _too_few(facts: Mapping[str, Support], seen: list[str], least: float) -> str:
    most = max(facts[name].visits for name in seen)
    return (
        f"the log is worth {most:.1f} effective visits to an order like that of the ranker, fewer "
        f"than {least:g}: any interval would be too narrow. Take a longer log, or one in which "
        "more of the visits saw a random order, or allow for fewer (--least-visits)."
    )


def _interval(value: float, resamples: pl.Series, unseen: float) -> tuple[float, float, float]:
    error = _NORMAL * float(np.std(resamples.to_numpy(), ddof=1))
    return value, value - error, value + error + unseen


def _without_support(facts: Mapping[str, Support]) -> str:
    return (
        f"{facts['ips'].never_shown:.1%} of what the ranker would show was never shown at that "
        f"position, and {facts['pbm'].never_shown:.1%} nowhere on that page: no weight makes up "
        "for what a log never tried. Rank only what the pages showed (--candidates shown), take "
        "a log in which a share of the visits saw a random order, or allow for a share without "
        "clicks (--most-unseen)."
    )
