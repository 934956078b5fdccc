"""What is gained by learning: documented settings beside the strongest model that learns nothing.

    python -m benchmarks.expect LABEL=DATA:KIND ... [--pairs 60 600] --out expect.json
    python -m benchmarks.expect --lines docs/results/goals.json --out docs/results/expect.json

DATA is what `ssi.read` takes, KIND a kind of query (``link``, ``anchors``, ``titles``,
``judgement``). Each task is measured on its test side, of judged queries in all folds, with all of
its training pairs or with shares of them; validation has that share, too. The strongest model that
learns nothing is chosen on validation. What learns is `SSI()`; where queries look for one document
each, it is the latent part beside BM25F (`Residual`), with the same settings. ``docs/expect.md``
shows the table.

With ``--lines`` nothing is measured: the gains of whole tasks, taken over from a file of
`benchmarks.goals`, and those of parts give the lines of `selection.expectation.PRIORS`, and for
each collection what the lines of all others say of it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import ssi_core as ssi
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.files import write_result
from ssi_core.models.choice import beside_words
from ssi_core.models.choice.untrained import Untrained, title
from ssi_core.tasks.kinds import fields_of
from ssi_core.tasks.split import hash_titles
from ssi_core.tasks.training_part import share_of_pairs
from ssi_core.types import Float64, Task

MEASURE = "map"
_FEWEST = 30
"""Pairs of validation at least, where there are as many."""
_JUDGED = {"relevant": "click", "ranked": "judged"}


class Gain(NamedTuple):
    """What learning gained on a collection: the mean difference on its test side, and its error."""

    collection: str
    kind: str
    pairs: int
    gain: float
    error: float


def share_of(task: Task, pairs: int | None) -> Task:
    """Return a task with about so many training pairs, and that share of its validation pairs.

    Queries that look for no single document keep all that are relevant to them.
    """
    if pairs is None:
        return task
    part_of = share_of_pairs if task.same or beside_words.is_known_item(task) else _share_of_queries
    share = pairs / len(task.train)
    held = min(1.0, max(share, _FEWEST / len(task.valid)))
    valid = part_of(replace(task, train=task.valid), held).train
    return replace(part_of(task, share), valid=valid)


def _share_of_queries(task: Task, share: float) -> Task:
    hashes = hash_titles(task.queries.ids.cast(pl.String), 0, b"share query", "queries")
    return replace(task, train=task.train.take(hashes[task.train.rows[:, 0]] * 2.0**-64 < share))


def model_of(task: Task, ours: ssi.SSI | None = None) -> Any:
    """Return the documented settings of a training on a task, or others."""
    return beside_words.documented(task, (ours or ssi.SSI()).ranker(), MEASURE)


def folds_of(data: str, kind: str) -> list[Task]:
    """Return the divisions of the tasks of a kind, of one collection or, after commas, several."""
    asked: Any = _JUDGED if kind == "click+judged" else fields_of(kind)
    tasks = [ssi.Task.of(ssi.read(one), **asked) for one in data.split(",")]
    return [division for task in tasks for division in task.divisions]


def pairs_of(folds: Sequence[Task]) -> int:
    """Return the number of training pairs, the mean of the folds."""
    return round(np.mean([len(fold.train) for fold in folds]))


def row_of(
    model_of_fold: Callable[[Task], Any], folds: Sequence[Task], seeds: int
) -> tuple[Float64, dict[str, Any]]:
    """Return the values of all test queries, means over the seeds, and what is fitted and takes."""
    cost, frames, losses, chosen = [], [], [], Counter[str]()
    for fold in folds:
        of_seeds = []
        for seed in range(seeds):
            begun = time.process_time()
            fit = model_of_fold(fold).fit(fold, np.random.default_rng([seed]))
            cost.append(time.process_time() - begun)
            report = evaluate(fit, fold, queries=10_000, tuples=0)
            of_seeds.append(report.per_query[MEASURE].to_numpy())
            losses.append(report.means["rank_loss"])
            chosen[title(fit.model)] += 1
        frames.append(np.mean(of_seeds, axis=0))
    values = np.concatenate(frames)
    return values, {
        "model": chosen.most_common(1)[0][0],
        "mean": float(values.mean()),
        "rank_loss": float(np.mean(losses)),
        "cpu_seconds": round(float(np.mean(cost)), 1),
    }


def measured(label: str, kind: str, folds: Sequence[Task]) -> dict[str, Any]:
    """Return what both reach on the test sides, query by query, and what a fold takes."""
    before, least = row_of(lambda fold: Untrained(measure=MEASURE), folds, 1)
    after, documented = row_of(model_of, folds, 1)
    gain = after - before
    mean, error = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))
    return {
        "set": label,
        "kind": kind,
        "pairs": pairs_of(folds),
        "valid_pairs": round(np.mean([len(fold.valid) for fold in folds])),
        "test_queries": len(gain),
        "seeds": 1,
        **_compared(least, documented, mean, error),
    }


def table(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines of Markdown, by kind and number of pairs."""
    for row in sorted(results, key=lambda one: (one["kind"], one["pairs"], one["set"])):
        before, after = row["untrained"], row["trained"]
        cells = [
            row["kind"],
            f"{row['pairs']:,}",
            row["set"],
            f"{row['test_queries']:,}",
            f"{before['model']} {before['mean']:.3f}",
            f"{after['model']} {after['mean']:.3f}",
            f"{row['gain']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})",
            f"{row['cpu_seconds'][1]:.0f}",
        ]
        yield f"| {' | '.join(cells)} |"


def of_both(ours: Path, of_goals: Path) -> list[dict[str, Any]]:
    """Return the results of a file of `benchmarks.goals`, and those of parts in ours."""
    results = []
    for one in json.loads(of_goals.read_text())["results"]:
        least, documented = (one["rows"][row] for row in ("learns nothing", "SSI()"))
        names = ("set", "kind", "pairs", "valid_pairs", "test_queries", "seeds")
        gain, error = (one["differences"][0][name] for name in ("mean", "se"))
        of_task = {name: one[name] for name in names}
        results.append(of_task | _compared(least, documented, gain, error))
    known = {(one["set"], one["kind"], one["pairs"]) for one in results}
    parts = json.loads(ours.read_text())["results"]
    return results + [one for one in parts if (one["set"], one["kind"], one["pairs"]) not in known]


def _compared(
    least: Mapping[str, Any], documented: Mapping[str, Any], gain: float, error: float
) -> dict[str, Any]:
    """Return what a result says of the two models: names, means, and the gain with its interval."""
    untrained, trained = (
        {name: one[name] for name in ("model", "mean")} for one in (least, documented)
    )
    return {
        "untrained": untrained,
        "trained": trained,
        "gain": gain,
        "se": error,
        "low": gain - 1.96 * error,
        "high": gain + 1.96 * error,
        "cpu_seconds": [row["cpu_seconds"] for row in (least, documented)],
    }


def gains(results: Sequence[Mapping[str, Any]]) -> list[Gain]:
    """Return the gains of results."""
    kinds = ("documents" if one["kind"] == "link" else "queries" for one in results)
    return [
        Gain(one["set"], kind, one["pairs"], one["gain"], one["se"])
        for one, kind in zip(results, kinds, strict=True)
    ]


def line(rows: Sequence[Gain]) -> tuple[float, float]:
    """Return the gain at 1,000 pairs, and what ten times as many add.

    Rows of a collection share its weight. A row counts by its error and by the spread of the
    residuals; the slope is held near 0 as by a normal density of deviation 0.1.
    """
    x = np.array([np.log10(row.pairs / 1000) for row in rows])
    y, error = (np.array([getattr(row, name) for row in rows]) for name in ("gain", "error"))
    names = [row.collection for row in rows]
    share = np.array([1 / names.count(name) for name in names])
    spread = 0.03
    for _ in range(100):
        weight = share / (error**2 + spread**2)
        design = np.column_stack([np.ones_like(x), x])
        inner = design.T @ (weight[:, None] * design) + np.diag([0.0, 1 / 0.1**2])
        at, slope = np.linalg.solve(inner, design.T @ (weight * y))
        residual = y - at - slope * x
        spread = float(np.sqrt(max(0.01**2, np.average(residual**2 - error**2, weights=weight))))
    return float(at), float(slope)


def lines(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the line of each kind, and what those of all other collections say of each.

    The spread is the root mean square of what these miss.
    """
    rows = gains(results)
    for kind in sorted({row.kind for row in rows}):
        mine, missed, said = [row for row in rows if row.kind == kind], [], []
        for name in dict.fromkeys(row.collection for row in mine):
            at, slope = line([row for row in mine if row.collection != name])
            for row in (row for row in mine if row.collection == name):
                others = at + slope * np.log10(row.pairs / 1000)
                missed.append(row.gain - others)
                said.append(
                    f"  {name}, {row.pairs:,} pairs: {row.gain:+.3f} +-{row.error:.3f}, the others "
                    f"say {others:+.3f}"
                )
        at, slope = line(mine)
        spread = np.sqrt(np.mean(np.square(missed)))
        yield f"{kind}: at 1,000 {at:.3f}, tenfold {slope:.3f}, spread {spread:.3f}"
        yield from said


def main() -> None:
    """Measure what the file lacks, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.expect", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="LABEL=DATA:KIND")
    parser.add_argument("--lines", type=Path, metavar="GOALS")
    parser.add_argument("--pairs", type=int, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.lines is not None:
        both = of_both(given.out, given.lines)
        write_result(given.out, {"comparison": "expect", "results": both})
        print(*table(both), "", *lines(both), sep="\n")
        return
    results = json.loads(given.out.read_text())["results"] if given.out.exists() else []
    known = {(one["set"], one["kind"], one["pairs"]) for one in results}
    for label, place in (one.split("=", 1) for one in given.tasks):
        data, kind = place.rsplit(":", 1)
        whole = folds_of(data, kind)
        for pairs in given.pairs or [None]:
            folds = [share_of(fold, pairs) for fold in whole]
            if (label, kind, pairs_of(folds)) not in known:
                results.append(measured(label, kind, folds))
                write_result(given.out, {"comparison": "expect", "results": results})
                print(results[-1], flush=True)
    print(*table(results), sep="\n")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
