"""What is gained by learning: documented settings beside the strongest model that learns nothing.

    python -m benchmarks.expect LABEL=DATA:KIND ... [--pairs 60 600] --out expect.json
    python -m benchmarks.expect --lines docs/results/auto.json --out docs/results/expect.json

DATA is what `ssi.read` takes, KIND a kind of query (``link``, ``anchors``, ``titles``,
``judgement``). Each task is measured on its test side, with all of its training pairs and with
shares of them; validation has that share, too. The strongest model that learns nothing is chosen on
validation. What learns is `SSI()` where documents are queries; where people type, it is the latent
part beside BM25F (`Residual`), with the same settings. ``docs/expect.md`` shows the table.

With ``--lines`` nothing is measured: the gains in the file, and those of `auto` in a file of
`benchmarks.auto`, give the lines of `selection.expectation.PRIORS`, and for each collection what
the lines of all others say of it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ssi_core as ssi
from benchmarks.auto import UNTRAINED
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.files import write_result
from ssi_core.models.choice.beside_words import documented
from ssi_core.models.choice.untrained import Untrained, title
from ssi_core.tasks.kinds import fields_of
from ssi_core.tasks.training_part import share_of_pairs
from ssi_core.types import Task

MEASURE = "map"
_FEWEST = 30
"""Pairs of validation at least, where there are as many."""
_KINDS = {"link": "documents", "anchors": "queries", "titles": "queries", "judgement": "queries"}


class Gain(NamedTuple):
    """What learning gained on a collection: the mean difference on its test side, and its error."""

    collection: str
    kind: str
    pairs: int
    gain: float
    error: float


def share_of(task: Task, pairs: int | None) -> Task:
    """Return a task with about so many training pairs, and that share of its validation pairs."""
    if pairs is None:
        return task
    share = pairs / len(task.train)
    held = min(1.0, max(share, _FEWEST / len(task.valid)))
    valid = share_of_pairs(replace(task, train=task.valid), held).train
    return replace(share_of_pairs(task, share), valid=valid)


def model_of(task: Task, ours: ssi.SSI | None = None) -> Any:
    """Return the documented settings of a training on a task, or others."""
    return documented(task, (ours or ssi.SSI()).ranker(), MEASURE)


def measured(label: str, kind: str, task: Task, seed: int) -> dict[str, Any]:
    """Return what both reach on the test side, query by query, and what they take."""
    values, seconds, names = [], [], []
    for model in (Untrained(measure=MEASURE), model_of(task)):
        begun = time.process_time()
        fit = model.fit(task, np.random.default_rng([seed]))
        seconds.append(round(time.process_time() - begun, 1))
        values.append(evaluate(fit, task, queries=10_000, tuples=0).per_query[MEASURE].to_numpy())
        names.append(title(fit.model))
    gain = values[1] - values[0]
    mean, error = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))
    return {
        "set": label,
        "kind": kind,
        "pairs": len(task.train),
        "valid_pairs": len(task.valid),
        "test_queries": len(gain),
        "seed": seed,
        "untrained": {"model": names[0], "mean": float(values[0].mean())},
        "trained": {"model": names[1], "mean": float(values[1].mean())},
        "gain": mean,
        "se": error,
        "low": mean - 1.96 * error,
        "high": mean + 1.96 * error,
        "cpu_seconds": seconds,
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


def gains(ours: Path, of_auto: Path) -> list[Gain]:
    """Return the gains of both files."""
    rows = [
        Gain(_collection(one["set"]), _KINDS[one["kind"]], one["pairs"], one["gain"], one["se"])
        for one in json.loads(ours.read_text())["results"]
    ]
    for one in json.loads(of_auto.read_text())["sets"]:
        others = [row for row in one["rows"] if row["row"] in UNTRAINED]
        if not others or "mates" in one["set"]:
            continue
        best = max(others, key=lambda row: row["measures"][one["measure"]]["mean"])
        # The limit is the end of a one-sided interval of 95 %.
        error = max(1e-3, (best["difference"] + best["limit"]) / 1.645)
        kind = "documents" if one["set"].endswith(" links") else "queries"
        name = _collection(one["set"])
        rows.append(Gain(name, kind, one["pairs"], best["difference"], error))
    return rows


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


def lines(rows: Sequence[Gain]) -> Iterator[str]:
    """Yield the line of each kind, and what those of all other collections say of each.

    The spread is the root mean square of what these miss.
    """
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


def _collection(label: str) -> str:
    return label.replace(",", "").split()[0]


def main() -> None:
    """Measure what the file lacks, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.expect", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="LABEL=DATA:KIND")
    parser.add_argument("--lines", type=Path, metavar="AUTO")
    parser.add_argument("--pairs", type=int, nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.lines is not None:
        print(*lines(gains(given.out, given.lines)), sep="\n")
        return
    results = json.loads(given.out.read_text())["results"] if given.out.exists() else []
    known = {(one["set"], one["kind"], one["pairs"], one["seed"]) for one in results}
    for label, place in (one.split("=", 1) for one in given.tasks):
        data, kind = place.rsplit(":", 1)
        task = ssi.Task.of(ssi.read(data), **fields_of(kind))
        whole = task.divisions[0]
        for pairs in [*(n for n in given.pairs if n < len(whole.train)), None]:
            part = share_of(whole, pairs)
            if (label, kind, len(part.train), given.seed) not in known:
                results.append(measured(label, kind, part, given.seed))
                write_result(given.out, {"comparison": "expect", "results": results})
                print(results[-1], flush=True)
    print(*table(results), sep="\n")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
