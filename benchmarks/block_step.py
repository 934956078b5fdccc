"""Whole trainings by triples and by blocks: what they reach, and the CPU seconds of their sweeps.

    python -m benchmarks.block_step NAME SETTINGS TASK [--rates R,...] [--seeds N] [--save FILE]

For each step the rate is the one whose training, of seed 0, has the best validation MAP; it is then
trained with the other seeds. Judged queries have folds, and a training in each, so that every query
is tested: the rate is chosen by the mean of their validations, a row has their means. A training
ends when validation MAP has not improved for a while, or with its budget; blocks have three times
the budget and twice the patience. It is measured as it was at its best. Test MAP of the steps is
compared query by query, the mean over the seeds of each. ``--save`` adds the trainings to those
that the file has of other names.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.significance import paired_equivalence, paired_randomisation
from ssi_core.files import write_result
from ssi_core.models.base import FitOptions, fitted
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.training import MapTraining
from ssi_core.tasks.task import open_task
from ssi_core.training.descend import Diverged, descend
from ssi_core.training.sgd import Sgd
from ssi_core.types import Float64, Task

MARGIN = 0.005
"""Of MAP: two steps are equivalent if they differ by less."""

WITHIN = (0.1, 0.2, 0.25, 0.5, 1, 2, 4, 5, 10, 20, 30, 40, 80)
"""CPU seconds of steps within which the best validation MAP is told."""

_WARP = {"negatives": 50, "warp": True, "margin": 0.03, "dimensions": 100}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "WARP, 100 words": {"view": "sublinear:100", "diagonal_view": "sublinear:100", **_WARP},
    "WARP, all words": {"view": "sublinear:100", "diagonal_view": "sublinear", **_WARP},
    "50 words": {
        "view": "sublinear:50",
        "diagonal_view": "sublinear",
        "negatives": 8,
        "margin": 0.1,
    },
}
_ALL = {
    "diagonal": "learned",
    "diagonal_rate": 20.0,
    "init_std": 0.01,
    "dimensions": 50,
    "stop_by": "map",
}


class Trained:
    """A training to its end; its arrays are those of the best validation."""

    def __init__(self, task: Task, model: Bilinear, seed: int) -> None:
        training = MapTraining(model, task, {}, seed, FitOptions())
        settings = {"margin": model.margin, "alpha": 1.0, "negatives_power": 0.0}
        settings |= {"rate": model.rates[0], "init_std": model.init_std}
        training.begin(settings).sweep(10)  # compiles
        sgd = training.begin(settings)
        curve: list[tuple[float, int, float]] = []
        timed = _Timed(sgd)

        def watch(triples: int, metrics: Mapping[str, float]) -> None:
            curve.append((timed.seconds, triples, 1 - metrics["val/map_error"]))

        progress = descend(
            timed,
            epoch=model.epoch,
            budget=model.budget,
            patience=model.patience,
            measure="map_error",
            watch=watch,
        )
        fit = fitted(model, task, training.arrays(sgd.parameters))
        valid = evaluate(fit, task, side="valid", queries=10_000, tuples=0).means
        test = evaluate(fit, task, queries=10_000, tuples=0)
        self.by_query: Float64 = test.per_query["map"].to_numpy()
        self.curve = curve
        at_best = next(s for s, triples, _ in curve if triples == progress.best_at)
        self.row = {
            "triples": progress.triples,
            "best_at": progress.best_at,
            "seconds": timed.seconds,
            "seconds_to_best": at_best,
            "valid_map": valid["map"],
            "valid_rank_loss": valid["rank_loss"],
            "test_map": test.means["map"],
            "test_rank_loss": test.means["rank_loss"],
            "curve": [[round(seconds, 2), round(value, 4)] for seconds, _, value in curve],
        }


class _Timed:
    """A trainee whose sweeps are timed, in CPU seconds of the process."""

    def __init__(self, sgd: Sgd) -> None:
        self._sgd, self.seconds = sgd, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sgd, name)

    def sweep(self, triples: int) -> Mapping[str, float]:
        start = time.process_time()
        measures = self._sgd.sweep(triples)
        self.seconds += time.process_time() - start
        return measures


class InFolds:
    """The trainings of one seed in all folds, as one: means, and the test queries of all."""

    def __init__(self, folds: Sequence[Trained]) -> None:
        self.by_query: Float64 = np.concatenate([one.by_query for one in folds])
        self.curve = folds[0].curve
        rows = [one.row for one in folds]
        names = [name for name in rows[0] if name != "curve"]
        weights = [len(one.by_query) for one in folds]
        means = {n: float(np.average([row[n] for row in rows], weights=weights)) for n in names}
        self.row = means | {"folds": len(rows), "curve": rows[0]["curve"]}


def trainings(
    task: Task, step: str, settings: Mapping[str, Any], rates: list[float], seeds: int
) -> list[tuple[dict[str, Any], Trained | InFolds]]:
    """Train with each rate, and with the best of them from each seed."""
    folds = task.folds or (task,)
    found: list[tuple[dict[str, Any], Trained | InFolds]] = []

    def train(rate: float, seed: int) -> Trained | InFolds:
        own = []
        for fold in folds:
            one = Trained(fold, Bilinear(**{**_ALL, **settings}, step=step, rates=(rate,)), seed)
            said = {name: round(value, 4) for name, value in one.row.items() if name != "curve"}
            print(step, rate, seed, said, flush=True)
            own.append(one)
        return InFolds(own) if len(own) > 1 else own[0]

    tried: dict[float, Trained | InFolds] = {}
    for rate in rates:
        try:
            tried[rate] = train(rate, 0)
        except Diverged:
            print(step, rate, "diverged", flush=True)
    best = max(tried, key=lambda rate: float(tried[rate].row["valid_map"]))
    for rate in tried:
        if rate != best:
            found.append(({"step": step, "rate": rate, "seed": 0, "chosen": False}, tried[rate]))
    for seed in range(seeds):
        key = {"step": step, "rate": best, "seed": seed, "chosen": True}
        found.append((key, train(best, seed) if seed else tried[best]))
    return found


def compared(found: Mapping[str, list[Trained | InFolds]]) -> dict[str, Any]:
    """Compare the chosen trainings: means over seeds, and test MAP query by query."""
    rows = {step: [one.row for one in own] for step, own in found.items()}
    means = {
        name: {step: float(np.mean([row[name] for row in own])) for step, own in rows.items()}
        for name in rows["triple"][0]
        if name not in ("triples", "best_at", "curve", "folds")
    }
    block, triple = (np.mean([o.by_query for o in found[step]], 0) for step in ("block", "triple"))
    # CPU seconds until the validation MAP is that of the triples at their best, less the margin.
    reached = {}
    target = np.mean([max(point[2] for point in one.curve) for one in found["triple"]]) - MARGIN
    for step, own in found.items():
        times = [next((s for s, _, m in one.curve if m >= target), None) for one in own]
        reached[step] = float(np.mean(times)) if None not in times else None
    return {
        **means,
        "seconds_to_map_of_triples": reached,
        "valid_map_within": {step: best_within(own) for step, own in rows.items()},
        "test_map_difference": float((block - triple).mean()),
        "test_map_se": float((block - triple).std(ddof=1) / np.sqrt(len(block))),
        "p_equivalent": paired_equivalence(block, triple, MARGIN),
        "p_different": paired_randomisation(block, triple),
    }


def best_within(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the best validation MAP within so many CPU seconds, the mean of trainings."""
    return {
        str(most): float(
            np.mean(
                [max(value for seconds, value in row["curve"] if seconds <= most) for row in rows]
            )
        )
        for most in WITHIN
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("settings", choices=SETTINGS)
    parser.add_argument("task", type=Path)
    parser.add_argument("--rates", default="0.002,0.005,0.0125")
    parser.add_argument("--rates-of-triples", help="if fewer of them are to be tried")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epoch", type=int, default=40_000)
    parser.add_argument("--budget", type=int, default=1_200_000)
    parser.add_argument("--patience", type=int, default=12)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    task, name = open_task(options.task), f"{options.name}, {options.settings}"
    ends = {key: getattr(options, key) for key in ("epoch", "budget", "patience")}
    settings = {**SETTINGS[options.settings], **ends}
    longer = {"budget": 3 * options.budget, "patience": 2 * options.patience}
    settings_of = {"triple": settings, "block": settings | longer}
    rates = {"block": options.rates, "triple": options.rates_of_triples or options.rates}
    records, chosen = [], {}
    with threadpool_limits(1):
        for step in ("block", "triple"):
            own = [float(rate) for rate in rates[step].split(",")]
            found = trainings(task, step, settings_of[step], own, options.seeds)
            records += [{"data": name, **key, **one.row} for key, one in found]
            chosen[step] = [one for key, one in found if key["chosen"]]
    summary = {"data": name, **ends, **compared(chosen)}
    print(json.dumps(summary, indent=1))
    if options.save is not None:
        saved = json.loads(options.save.read_text()) if options.save.exists() else {}
        for part, rows in (("summaries", [summary]), ("trainings", records)):
            others = [row for row in saved.get(part, []) if row["data"] != name]
            saved[part] = others + rows
        write_result(options.save, saved)


if __name__ == "__main__":
    main()
