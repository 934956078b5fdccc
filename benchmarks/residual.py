"""The latent part beside BM25F, by folds over the training pairs: weights, and hard d-.

    python -m benchmarks.residual LABEL=DATA:KIND ... [--folds 4] --out residual.json

No test pair is looked at. The training and validation pairs are divided by their queries into
folds: each asks once a model that has learned from all others but one, which validates. The words
of links stand in a field of their pages, where each finds its page; BM25F leaves this field out.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import ssi_core as ssi
from ssi_core.evaluation.evaluate import Validator
from ssi_core.evaluation.measures import MEASURES
from ssi_core.files import write_result
from ssi_core.models.base import FitOptions
from ssi_core.models.bm25f import Bm25F, without_anchors
from ssi_core.models.combined.residual import Residual
from ssi_core.scoring.ranker import Fitted
from ssi_core.tasks.spec import fields_of
from ssi_core.tasks.training_part import training_part
from ssi_core.types import Float64, Pairs, Task

MEASURE = "map"
WEIGHTS = (1.0, 0.0, 0.25, 0.5, 2.0)
"""The first one stays, unless validation is clearly for another."""
ROWS: Mapping[str, Mapping[str, Any]] = {
    "random": {},
    "half of the first 60": {"against": "first_stage", "hard_share": 0.5},
}


def folds(task: Task, number: int) -> Iterator[tuple[Task, Validator]]:
    """Yield a task to learn from and what measures on its fold, for each fold."""
    rows = np.vstack([task.train.rows, task.valid.rows])
    pairs, owners = Pairs.of(rows), np.unique(rows[:, 0])
    of_query = np.zeros(len(task.queries), np.int64)
    of_query[owners] = np.random.default_rng(5).permutation(len(owners)) % number
    place = of_query[pairs.rows[:, 0]]
    for fold in range(number):
        asked, validating = place == fold, place == (fold + 1) % number
        known = pairs.take(~(asked | validating))
        learning = replace(task, train=known, valid=pairs.take(validating))
        yield learning, Validator(replace(learning, valid=pairs.take(asked)), "valid", 10_000)


def measured(label: str, kind: str, task: Task, number: int, budget: int) -> dict[str, Any]:
    """Return the gains over BM25F: with the weight that is chosen, and with each weight."""
    begun = time.process_time()
    rng = np.random.default_rng
    words = without_anchors(Bm25F.tuned(measure=MEASURE).learn(task, rng(0), FitOptions()))
    latent = replace(ssi.SSI().ranker(), budget=budget)
    values: dict[str, list[Float64]] = {}

    def note(row: str, fit: Fitted, judge: Validator) -> None:
        found = np.asarray(MEASURES[MEASURE](judge.ranks(fit)), np.float64)
        values.setdefault(row, []).append(found)

    for seed, (learning, judge) in enumerate(folds(task, number)):
        note("BM25F", words, judge)
        for row, changes in ROWS.items():
            second = {"model": latent.name, **vars(replace(latent, **changes))}
            model = Residual(({"model": "bm25f", **vars(words.model)}, second), weights=WEIGHTS)
            fit = model.beside(learning, words, rng([seed]), FitOptions())
            note(row, fit, judge)
            for weight, one in zip(sorted(model.weights), fit.model.variants(fit), strict=True):
                note(f"{row}, weight {weight:g}", one, judge)
    joined = {row: np.concatenate(parts) for row, parts in values.items()}
    rows = {row: _row(one, joined["BM25F"]) for row, one in joined.items()}
    seconds = round(time.process_time() - begun, 1)
    return {
        "set": label,
        "kind": kind,
        "queries": len(joined["BM25F"]),
        "cpu_seconds": seconds,
        "rows": rows,
    }


def _row(values: Float64, base: Float64) -> dict[str, float]:
    gain = values - base
    error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
    return {"mean": float(values.mean()), "gain": float(gain.mean()), "se": error}


def table(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines of Markdown: a row each, and the gains on all sets."""
    for row in results[0]["rows"]:
        gains = [one["rows"][row] for one in results]
        cells = [f"{one['gain']:+.3f} ±{one['se']:.3f}" for one in gains]
        yield f"| {' | '.join([row, *cells])} |"


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.residual", description=__doc__)
    parser.add_argument("tasks", nargs="+", metavar="LABEL=DATA:KIND")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--budget", type=int, default=300_000)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    results = []
    for label, place in (one.split("=", 1) for one in given.tasks):
        data, kind = place.rsplit(":", 1)
        task = training_part(ssi.Task.of(ssi.read(data), **fields_of(kind)).data)
        results.append(measured(label, kind, task, given.folds, given.budget))
    write_result(given.out, {"comparison": "residual", "results": results})
    print(*table(results), sep="\n")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
