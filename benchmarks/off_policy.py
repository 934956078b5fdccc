"""Coverage of off-policy estimates under four models of how visitors click.

    python -m benchmarks.off_policy --json FILE

``position``: a click is a look at the place times the relevance of the ad. ``trust``: visitors also
click what is not relevant, the more the higher it stands. ``mixed``: half of the visitors look at
two ads, the others at all. ``cascade``: visitors leave at their first click. Pages, ads and orders
are those of `tests.guests.click_logs.policies`; one visit in five sees a random order.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core.files import write_result
from ssi_core.guests.click_logs.propensity import estimate_propensities
from ssi_core.guests.off_policy.bootstrap import estimate_clicks
from ssi_core.guests.off_policy.documents_above import documents_above
from ssi_core.guests.off_policy.off_policy import ESTIMATORS, OffPolicy
from tests.guests.click_logs.policies import ADS, EXAMINATION, LEAVES, SHOWN, TRIALS, Visits
from tests.guests.off_policy.off_policy_study import BIDS, NEW, TRUTH, ranking, read

MODELS = ("position", "trust", "mixed", "cascade")
SHALLOW = 2
"""Ads that a shallow visitor looks at."""
TRUST = 0.3 * np.array(EXAMINATION) ** 2
"""Probability that a visitor who looks clicks on an ad that is not relevant."""


def clicks_of(model: str, likes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the clicks on ads that visitors like or not, bool (visits, `SHOWN`)."""
    if model == "cascade":
        goes_on = (rng.random(likes.shape) >= LEAVES) & ~likes
        goes_on[:, 1:], goes_on[:, 0] = goes_on[:, :-1].copy(), True
        return likes & np.cumprod(goes_on, axis=1).astype(bool)
    if model == "mixed":
        deep = rng.random((len(likes), 1)) < 0.5
        return likes & (deep | (np.arange(SHOWN) < SHALLOW))
    looks = rng.random(likes.shape) < EXAMINATION
    if model == "trust":
        likes = likes | (rng.random(likes.shape) < TRUST)
    return likes & looks


def visits_of(model: str, visits: int, seed: int) -> Visits:
    """Simulate visits of a model; one in five sees a random order, the others that of bids."""
    rng = np.random.default_rng(seed)
    page = rng.integers(len(TRUTH), size=visits)
    fixed = np.argsort(BIDS, axis=1)[page]
    drawn = np.argsort(rng.random((visits, ADS)), axis=1)
    trial = rng.random((visits, 1)) < TRIALS
    ads = np.where(trial, drawn, fixed)[:, :SHOWN]
    likes = rng.random(ads.shape) < TRUTH[page[:, None], ads]
    return Visits(page, ads, clicks_of(model, likes, rng))


def truth_of(model: str, visits: int = 400_000) -> float:
    """Return the clicks a visit of the new order, by as many simulated visits."""
    rng = np.random.default_rng(12345)
    page = rng.integers(len(TRUTH), size=visits)
    likes = rng.random((visits, SHOWN)) < TRUTH[page[:, None], NEW[page]]
    return float(clicks_of(model, likes, rng).sum() / visits)


def study(model: str, logs: int, visits: int, rounds: int) -> dict[str, object]:
    """Estimate on many logs: coverage and mean of each estimator, z of `documents_above`.

    ``weight_of_last`` is the weight that the estimated propensities give a click at the last
    position, over the weight that it has by the examination of the simulation.
    """
    truth = truth_of(model)
    values: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ESTIMATORS}
    z, last = [], []
    for seed in range(logs):
        log = read(visits_of(model, visits, seed))
        counts = log.count()
        columns = [pl.Series(x).cast(pl.Int64) for x in counts[:2]]
        theta = estimate_propensities(
            log.cells.with_columns(shown=columns[0], clicks=columns[1])
        ).with_columns(pl.col("position").cast(pl.Int64))
        estimates = estimate_clicks(OffPolicy(log, ranking(), theta), rounds=rounds, seed=seed)
        for name in ESTIMATORS:
            if (one := estimates[name]) is not None:
                values[name].append((one.value, one.low, one.high))
        z.append(documents_above(log).z)
        last.append(theta["propensity"][SHOWN - 1])
    row: dict[str, object] = {
        "truth": round(truth, 4),
        "logs": logs,
        "z": round(float(np.mean(z)), 2),
        "z_sd": round(float(np.std(z, ddof=1)), 2),
        "beyond_3": float(np.mean(np.abs(z) > 3)),
    }
    if model in ("position", "trust"):
        row["weight_of_last"] = round(float(EXAMINATION[-1] / np.mean(last)), 2)
    for name, own in values.items():
        value, low, high = np.array(own).T
        covered = float(np.mean((low <= truth) & (truth <= high)))
        row[name] = {"mean": round(float(value.mean()), 4), "coverage": round(covered, 3)}
    return row


def rows(logs: int, visits: int, rounds: int) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the row of each model."""
    for model in MODELS:
        yield model, study(model, logs, visits, rounds)


def main() -> None:
    """Print the study, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--logs", type=int, default=60)
    parser.add_argument("--visits", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    found = {}
    for model, row in rows(options.logs, options.visits, options.rounds):
        found[model] = row
        print(model, json.dumps(row), flush=True)
        if options.json:
            value = {"name": "user-models", "visits": options.visits, "rows": found}
            write_result(options.json, value)


if __name__ == "__main__":
    main()
