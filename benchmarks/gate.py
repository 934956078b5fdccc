"""How often the gate promotes a model that is only equal, and how often one that is better.

    python -m benchmarks.gate REPORT REPORT

The arguments are the reports (directories) of two seeds of one row. Their differences, without
their mean, are the noise between models that are equal; their mean scores are the queries. A
simulated month draws its frozen set anew from these queries, with replacement, and a champion; each
retraining of it a challenger comes, by the same noise, with a gain that is stated.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ssi_core.evaluation.report import load_report
from ssi_core.guests.monitoring.gate import Rule
from ssi_core.types import Float64, Report


@dataclass(frozen=True)
class Population:
    """Queries to draw from.

    Attributes
    ----------
    score : float64 (n,), what the models have in common
    noise : float64 (n,), half of what two of them differ in is of each; mean 0
    guards : slice -> bool (n,)
    """

    score: Float64
    noise: Float64
    guards: Mapping[str, NDArray[np.bool_]]


def population(one: Report, other: Report, rule: Rule) -> Population:
    """Put the reports of two seeds of one row together."""
    first, second = (r.per_query.sort("id") for r in (one, other))
    a, b = (frame[rule.measure].to_numpy() for frame in (first, second))
    guards = {}
    if one.slices is not None:
        for name in rule.guards:
            ids = one.slices.filter(slice=name)["id"]
            if len(ids) >= rule.fewest:
                guards[name] = first["id"].is_in(ids.implode()).to_numpy()
    difference = a - b
    return Population((a + b) / 2, (difference - difference.mean()) / np.sqrt(2), guards)


def promotions(
    there: Population,
    rule: Rule,
    *,
    months: int,
    retrainings: int,
    gain: float = 0.0,
    seed: int = 0,
) -> NDArray[np.bool_]:
    """Simulate months in which no challenger takes over: which of them would.

    Parameters
    ----------
    gain : share by which a challenger's scores are higher; 0: the models are equal

    Returns
    -------
    bool (months, retrainings), what the gate says on each retraining to a challenger of the first
    champion
    """
    rng = np.random.default_rng(seed)
    n = len(there.score)
    levels = np.array([rule.alpha_of(retraining) for retraining in range(1, retrainings + 1)])
    found = np.zeros((months, retrainings), bool)
    for month in range(months):
        drawn = rng.integers(0, n, n)
        score, noise = there.score[drawn], there.noise[drawn]
        signs = rng.integers(0, 2, (retrainings + 1, n), np.int8) * 2.0 - 1.0
        models = signs * noise
        models[1:] += gain * score
        better = models[1:] - models[0]
        passed = _p_greater(better) < levels
        for mask in there.guards.values():
            own = mask[drawn]
            if np.count_nonzero(own) >= rule.fewest:
                margin = rule.margin * (score[own] + models[0, own]).mean()
                passed &= _p_greater(better[:, own] + margin) < rule.level
        found[month] = passed
    return found


def _p_greater(values: Float64) -> Float64:
    """Return p of the one-sided t test that each row's mean is above 0."""
    n = values.shape[1]
    t = values.mean(axis=1) / (values.std(axis=1, ddof=1) / np.sqrt(n))
    p: Float64 = stats.t.sf(t, n - 1)
    return p


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("reports", nargs=2, type=Path, metavar="REPORT")
    parser.add_argument("--months", type=int, default=2000)
    parser.add_argument("--measure", default="map")
    arguments = parser.parse_args()
    rule = Rule(measure=arguments.measure)
    one, other = map(load_report, arguments.reports)
    there = population(one, other, rule)
    how = {"months": arguments.months, "retrainings": 30}
    print(
        f"{len(there.score)} queries, {rule.measure} {there.score.mean():.4f}, two equal models "
        f"differ by {np.sqrt(2) * there.noise.std():.4f} a query; guards: {', '.join(there.guards)}"
    )
    print(
        f"gain  retraining 1  retraining 7  retraining 30  any of 30   ({arguments.months} months)"
    )
    for gain in (0.0, 0.01, 0.02, 0.05):
        found = promotions(there, rule, gain=gain, **how)
        shares = [*found[:, [0, 6, 29]].mean(axis=0), found.any(axis=1).mean()]
        print(f"{gain:4.0%}" + "".join(f"{share:10.4f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
