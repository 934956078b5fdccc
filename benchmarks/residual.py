"""The latent part beside BM25F, by folds over the training pairs: weights, titles, and hard d-.

    python -m benchmarks.residual LABEL=DATA:KIND ... [--folds 4] [--seeds 3] --out residual.json

No test pair is looked at. The training and validation pairs are divided by their queries into
folds: each asks once a model that has learned from all others but one, which validates. The words
of a query stand in a field of its page: each is scored without what it adds there itself.
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
from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.ranking import Validator
from ssi_core.files import write_result
from ssi_core.models.base import FitOptions, fitted
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.choice.beside_words import SETTINGS
from ssi_core.models.combined.own_words import wordings
from ssi_core.models.combined.parts import fitted_parts
from ssi_core.models.combined.residual import EXACT, Residual, with_exact
from ssi_core.tasks.kinds import fields_of
from ssi_core.tasks.training_part import training_part
from ssi_core.types import Float64, Pairs, Task

MEASURE = "map"
WEIGHTS = (0.1, 0.25, 0.5, 1.0, 2.0)
_RANDOM: Mapping[str, Any] = {"lsi_weight": 0}
_HARD: Mapping[str, Any] = {"against": "first_stage"}
ROWS: Mapping[str, tuple[bool, Mapping[str, Any]]] = {
    "words of links": (False, _RANDOM),
    "words of links and titles": (True, _RANDOM),
    "words of links and titles, half of d- of the first 60": (True, {**_HARD, **_RANDOM}),
    "the same, begun with LSI": (True, _HARD),
}
"""Whether titles are learned from, too, and settings of the latent part; last the default ones."""


def folds(task: Task, known: Task, number: int, seed: int) -> Iterator[tuple[Task, Validator]]:
    """Yield a task to learn from, and what measures the texts of another on its fold."""
    rows = np.vstack([task.train.rows, task.valid.rows])
    pairs, owners = Pairs.of(rows), np.unique(rows[:, 0])
    of_query = np.zeros(len(task.queries), np.int64)
    of_query[owners] = np.random.default_rng(5 + seed).permutation(len(owners)) % number
    place = of_query[pairs.rows[:, 0]]
    for fold in range(number):
        asked, validating = place == fold, place == (fold + 1) % number
        left = ~(asked | validating)
        learning = replace(task, train=pairs.take(left), valid=pairs.take(validating))
        yield learning, Validator(replace(known, valid=pairs.take(asked)), "valid", 10_000)


def measured(
    label: str, kind: str, task: Task, number: int, budget: int, seeds: int
) -> dict[str, Any]:
    """Return the gains over BM25F with each weight, the means of all seeds query by query."""
    begun = time.process_time()
    rng = np.random.default_rng
    words = Bm25F.tuned(measure=MEASURE).learn(task, rng(0), FitOptions())
    latent = replace(ssi.SSI().ranker(), budget=budget, **SETTINGS)
    values: dict[str, list[Float64]] = {}
    known, scale = with_exact(task, words, [wordings(task)])
    exact = fitted(Bilinear(form="zero", diagonal="identity", view=EXACT), known, {})
    for seed in range(seeds):
        for fold, (learning, judge) in enumerate(folds(task, known, number, seed)):
            for row, (titles, changes) in ROWS.items():
                second = {"model": latent.name, **vars(replace(latent, **changes))}
                tables = {"model": "bm25f", **vars(words.model)}, second
                model = Residual(tables, weights=WEIGHTS, titles=titles)
                fit = model.beside(learning, words, rng([100 * seed + fold]), FitOptions())
                beta = fit.facts["beta"] / fit.facts["weight"] * scale
                sums = [(1.0, weight * beta) for weight in (0.0, *WEIGHTS)]
                ranks = judge.ranks_of_sums(exact, fitted_parts(fit)[1], sums)
                for weight, one in zip((0.0, *WEIGHTS), ranks, strict=True):
                    found = np.asarray(MEASURES[MEASURE](one), np.float64)
                    values.setdefault(f"{row}, weight {weight:g}", []).append(found)
    joined = {row: np.concatenate(parts) for row, parts in values.items()}
    alone = joined[f"{next(iter(ROWS))}, weight 0"]
    queries = len(alone) // seeds
    rows = {row: _row(one, alone, queries) for row, one in joined.items()}
    seconds = round(time.process_time() - begun, 1)
    return {
        "set": label,
        "kind": kind,
        "queries": queries,
        "seeds": seeds,
        "cpu_seconds": seconds,
        "rows": rows,
    }


def _row(values: Float64, base: Float64, queries: int) -> dict[str, float]:
    """Return the mean and the gain; seeds do not make more queries of the same ones."""
    gain = values - base
    error = float(gain.std(ddof=1) / np.sqrt(queries))
    return {"mean": float(values.mean()), "gain": float(gain.mean()), "se": error}


def table(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines of Markdown: a row each, and the gains on all sets."""
    for row in results[0]["rows"]:
        if row.endswith("weight 0"):
            continue
        gains = [one["rows"][row] for one in results]
        cells = [f"{one['gain']:+.3f} ±{one['se']:.3f}" for one in gains]
        yield f"| {' | '.join([row, *cells])} |"


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.residual", description=__doc__)
    parser.add_argument("tasks", nargs="+", metavar="LABEL=DATA:KIND")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--budget", type=int, default=300_000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    results = []
    for label, place in (one.split("=", 1) for one in given.tasks):
        data, kind = place.rsplit(":", 1)
        task = training_part(ssi.Task.of(ssi.read(data), **fields_of(kind)).data)
        results.append(measured(label, kind, task, given.folds, given.budget, given.seeds))
    write_result(given.out, {"comparison": "residual", "results": results})
    print(*table(results), sep="\n")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
