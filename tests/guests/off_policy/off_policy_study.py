"""Coverage of the intervals of `off_policy` on simulated logs, whose truth is known.

    python -m tests.guests.off_policy.off_policy_study --out docs/results/off-policy.json

Three pages of twelve ads, of which eight are shown (`policies`), and a new ranker that orders them
by their relevance and some noise. A case says which log, and what of it is known.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from ssi_core.files import write_result
from ssi_core.guests.click_logs.propensity import estimate_propensities
from ssi_core.guests.off_policy.bootstrap import estimate_clicks
from ssi_core.guests.off_policy.click_log import ClickLog, read_log
from ssi_core.guests.off_policy.off_policy import ESTIMATORS, OffPolicy
from tests.guests.click_logs.policies import (
    ADS,
    EXAMINATION,
    LEAVES,
    SHOWN,
    TRIALS,
    Visits,
    order_of,
    relevance_of,
    visits_of,
)

COMMAND = "python -m tests.guests.off_policy.off_policy_study --out docs/results/off-policy.json"
PAGES = 3
TRUTH = relevance_of(PAGES, 5)
BIDS = np.random.default_rng(77).random(TRUTH.shape)
NEW = np.argsort(-(TRUTH + np.random.default_rng(3).normal(0, 0.1, TRUTH.shape)), axis=1)[:, :SHOWN]
POSITIONS = np.arange(1, SHOWN + 1)
THETA = pl.DataFrame({"position": POSITIONS, "propensity": EXAMINATION})


class Case(NamedTuple):
    """A log, and what of it is known: "yes", "no" (estimated anew), or "fixed" (taken as known)."""

    log: str
    visits: int
    policy: str
    propensities: str


CASES = {
    "all known, random order": Case("uniform", 1000, "yes", "yes"),
    "all known, by bids": Case("truncated", 2000, "yes", "yes"),
    "propensities estimated": Case("truncated", 2000, "yes", "no"),
    "policy estimated": Case("truncated", 2000, "no", "yes"),
    "both estimated": Case("truncated", 2000, "no", "no"),
    "both estimated, 500 visits": Case("uniform", 500, "no", "no"),
    "both held fixed, 500 visits": Case("uniform", 500, "fixed", "fixed"),
    "both estimated, 500 visits by bids": Case("truncated", 500, "no", "no"),
    "both held fixed, 500 visits by bids": Case("truncated", 500, "fixed", "fixed"),
    "cascade, both estimated": Case("cascade", 2000, "no", "no"),
}


def ranking(order: np.ndarray = NEW) -> pl.DataFrame:
    """Return the ads of each page, (pages, `SHOWN`), as a ranking."""
    return pl.DataFrame(
        {
            "query": np.repeat(np.arange(len(order)), SHOWN),
            "document": order.ravel(),
            "position": np.tile(POSITIONS, len(order)),
            "share": 1.0,
        }
    )


def truth_of(case: Case, order: np.ndarray = NEW) -> float:
    """Return the expected clicks a visit of an order."""
    relevance = np.take_along_axis(TRUTH, order, axis=1)
    looks = np.array(EXAMINATION) * np.ones(relevance.shape)
    if case.log == "cascade":
        goes_on = (1 - relevance[:, :-1]) * (1 - LEAVES)
        looks[:, 0], looks[:, 1:] = 1, np.cumprod(goes_on, axis=1)
    return float(np.mean(np.sum(looks * relevance, axis=1)))


def policy_of(log: str) -> pl.DataFrame:
    """Return the logging policy."""
    trials = 1 if log == "uniform" else TRIALS
    probability = np.full((PAGES, ADS, SHOWN), trials / ADS)
    fixed = order_of(log, TRUTH, BIDS)[:, :SHOWN]
    for page in range(PAGES):
        probability[page, fixed[page], np.arange(SHOWN)] += 1 - trials
    page, ad, position = np.indices(probability.shape).reshape(3, -1)
    columns = {
        "query": page,
        "document": ad,
        "position": position + 1,
        "probability": probability.ravel(),
    }
    return pl.DataFrame(columns)


def read(visits: Visits) -> ClickLog:
    """Make a log of simulated visits, a session each."""
    n = len(visits.page)
    return read_log(
        pl.DataFrame(
            {
                "session": np.repeat(np.arange(n), SHOWN),
                "query": np.repeat(visits.page, SHOWN),
                "document": visits.ads.ravel(),
                "position": np.tile(POSITIONS, n),
                "clicked": visits.clicked.ravel(),
            }
        )
    )


def problem_of(case: Case, seed: int) -> OffPolicy:
    """Simulate a log of a case, and join it with the new ranker."""
    log = read(visits_of(case.log, TRUTH, case.visits, seed, BIDS))
    counts = log.count()
    columns = [pl.Series(x).cast(pl.Int64) for x in counts[:2]]
    shown = log.cells.with_columns(shown=columns[0], clicks=columns[1])
    theta = estimate_propensities(shown).with_columns(pl.col("position").cast(pl.Int64))
    frequencies = log.cells.with_columns(
        probability=pl.Series(counts.shown / counts.visits[log.cells["query"].to_numpy()])
    )
    return OffPolicy(
        log,
        ranking(),
        THETA if case.propensities == "yes" else theta,
        policy={"yes": policy_of(case.log), "fixed": frequencies}.get(case.policy),
        known_propensities=case.propensities != "no",
    )


def study(case: Case, logs: int, rounds: int) -> dict[str, dict[str, float]]:
    """Estimate on many logs; for each estimator the truth, the mean, its spread, the coverage."""
    truth = truth_of(case)
    found: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in ESTIMATORS}
    for seed in range(logs):
        estimates = estimate_clicks(problem_of(case, 1000 + seed), rounds=rounds, seed=seed)
        for name in ESTIMATORS:
            if (one := estimates[name]) is not None:
                found[name].append((one.value, one.low, one.high, one.visits))
    return {name: _row(truth, np.array(own), logs) for name, own in found.items() if own}


def _row(truth: float, own: np.ndarray, logs: int) -> dict[str, float]:
    value, low, high, visits = own.T
    return {
        "truth": truth,
        "estimate": float(value.mean()),
        "sd": float(value.std(ddof=1)),
        "low": float(low.mean()),
        "high": float(high.mean()),
        "coverage": float(np.mean((low <= truth) & (truth <= high))),
        "visits": float(visits.mean()),
        "logs": len(own),
        "refused": logs - len(own),
    }


def without_trials(case: Case, seed: int = 0) -> OffPolicy:
    """Return a log in which every visit of a page sees the same order."""
    visits = visits_of(case.log, TRUTH, case.visits, seed, BIDS)
    fixed = order_of(case.log, TRUTH, BIDS)[:, :SHOWN]
    same = (visits.ads == fixed[visits.page]).all(axis=1)
    log = read(Visits(visits.page[same], visits.ads[same], visits.clicked[same]))
    return OffPolicy(log, ranking(), THETA, known_propensities=True)


def rows(logs: int, rounds: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield a row for each case and estimator."""
    for label, case in CASES.items():
        for name, row in study(case, logs, rounds).items():
            yield f"{label}: {name}", row
    fixed = without_trials(CASES["policy estimated"])
    never = fixed.facts(fixed.log.count())
    for name in ESTIMATORS:
        yield f"order never changes: {name}", {"never_shown": never[name].never_shown}


def main() -> None:
    """Write the study as JSON, case by case, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--logs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, float]] = {}
    for label, row in rows(options.logs, options.rounds):
        found[label] = {name: round(value, 4) for name, value in row.items()}
        print(label, found[label], flush=True)
        value = {"name": "off-policy", "command": COMMAND, "rows": found}
        write_result(options.out, value)


if __name__ == "__main__":
    main()
