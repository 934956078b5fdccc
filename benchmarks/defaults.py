"""`SSI()` beside the rule by which it ended before, and `auto`: measures, triples and CPU seconds.

    python -m benchmarks.defaults LABEL=TASK ... --pairs 600 3000 --out defaults.json

Each task is measured with all of its training pairs, and with shares of them and of its validation
pairs: a collection with few pairs has few to validate on, too. The test side stays whole.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import ssi_core as ssi
from ssi_core.evaluation.comparison import value_text
from ssi_core.evaluation.evaluate import Validator, evaluate
from ssi_core.files import write_result
from ssi_core.tasks.training_part import share_of_pairs
from ssi_core.types import Task

BEFORE: Mapping[str, Any] = {"epoch": 20_000, "patience": 50, "decays": 0}
"""The rule by triples, which the rank loss ended."""
_FEWEST = 30
"""Pairs of validation at least, where there are as many."""
ROWS = ("before", "defaults", "auto")


def share_of(task: Task, pairs: int | None) -> Task:
    """Return a task with about so many training pairs, and that share of its validation pairs."""
    if pairs is None:
        return task
    share = pairs / len(task.train)
    held = min(1.0, max(share, _FEWEST / len(task.valid)))
    valid = share_of_pairs(replace(task, train=task.valid), held).train
    return replace(share_of_pairs(task, share), valid=valid)


def model_of(row: str, budget: int) -> Any:
    """Return the hyper-parameters of a row."""
    if row == "before":
        return replace(ssi.SSI(**BEFORE, budget=budget).ranker(), stop_by="rank_loss")
    return ssi.SSI(auto=row == "auto", budget=budget).ranker()


def measured(label: str, task: Task, row: str, seed: int, budget: int) -> dict[str, Any]:
    """Return what a row reaches on a task, on validation and on the test, and what it takes."""
    begun = time.process_time()
    fit = model_of(row, budget).fit(task, np.random.default_rng([seed]))
    seconds = time.process_time() - begun
    judge = Validator(task, "valid", 2_000).measures(fit)
    test = evaluate(fit, task, queries=10_000, tuples=0)
    facts = {name: fit.facts[name] for name in ("best_at", "decayed") if name in fit.facts}
    triples = fit.facts.get("auto", fit.facts)["triples"]
    return {
        "set": label,
        "pairs": len(task.train),
        "valid_pairs": len(task.valid),
        "row": row,
        "seed": seed,
        "triples": triples,
        "cpu_seconds": round(seconds, 1),
        **facts,
        "valid": {name: judge[name] for name in ("map", "rank_loss")},
        "test": {name: test.means[name] for name in ("map", "rank_loss")},
        "test_se": {name: test.errors[name] for name in ("map", "rank_loss")},
    }


def table(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines of Markdown: a set and a number of pairs each, and the rows side by side."""
    for label, pairs in dict.fromkeys((one["set"], one["pairs"]) for one in results):
        cells = [label, f"{pairs:,}"]
        for row in ROWS:
            ours = [r for r in results if (r["set"], r["pairs"], r["row"]) == (label, pairs, row)]
            cells.append(_cell(ours) if ours else "")
        yield f"| {' | '.join(cells)} |"


def _cell(rows: Sequence[Mapping[str, Any]]) -> str:
    means = {
        name: float(np.mean([row["test"][name] for row in rows])) for name in ("map", "rank_loss")
    }
    shown = " ".join(value_text(name, mean) for name, mean in means.items())
    triples, seconds = (np.mean([row[name] for row in rows]) for name in ("triples", "cpu_seconds"))
    return f"{shown} ({triples / 1000:,.0f} thousand, {seconds:.0f} s)"


def main() -> None:
    """Measure what the file lacks, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("tasks", nargs="+", metavar="LABEL=TASK")
    parser.add_argument("--pairs", type=int, nargs="*", default=[])
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=list(ROWS[:2]))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budget", type=int, default=20_000_000)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    results = json.loads(given.out.read_text())["results"] if given.out.exists() else []
    known = {(one["set"], one["pairs"], one["row"], one["seed"]) for one in results}
    for label, place in (one.split("=", 1) for one in given.tasks):
        whole = ssi.Task.open(place).divisions[0]
        for pairs in [*(n for n in given.pairs if n < len(whole.train)), None]:
            task = share_of(whole, pairs)
            for row, seed in ((row, seed) for row in given.rows for seed in range(given.seeds)):
                if (label, len(task.train), row, seed) not in known:
                    results.append(measured(label, task, row, seed, given.budget))
                    write_result(given.out, {"comparison": "defaults", "results": results})
                    print(results[-1], flush=True)
    print(*table(results), sep="\n")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
