"""What learns nothing, the documented settings and `auto` on the same test queries.

    python -m benchmarks.goals LABEL=DATA,DATA,...:KIND ... [--pairs 600 3000] --out goals.json

DATA is what `ssi.read` takes, KIND a kind of query, or "click+judged", where clicks teach and
judged queries test; several DATA are the folds of a publisher. Each set is measured on its test
side, judged queries in all folds, with all of its training pairs and with shares of them
(`benchmarks.expect.share_of`); pairs and costs are then those of a fold. The three models are
compared query by query, each query the mean over the seeds; p is that of paired randomisation,
after Holm over all sets. ``docs/auto.md`` shows the table and the lines below it.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import ssi_core as ssi
from benchmarks import expect
from ssi_core.evaluation.significance import holm, paired_randomisation
from ssi_core.files import write_result
from ssi_core.models.choice.untrained import Untrained
from ssi_core.types import Task

MEASURE = "map"
ROWS = ("learns nothing", "SSI()", "auto", "SSI(lsi_weight=0)")
COMPARED = (
    ("SSI()", "learns nothing"),
    ("auto", "learns nothing"),
    ("auto", "SSI()"),
    ("SSI()", "SSI(lsi_weight=0)"),
)
_LEVEL = 0.05


def model_of(row: str, task: Task) -> Any:
    """Return the hyper-parameters of a row on a task."""
    if row == "learns nothing":
        return Untrained(measure=MEASURE)
    if row == "auto":
        return ssi.SSI(auto=True).ranker()
    return expect.model_of(task, ssi.SSI() if row == "SSI()" else ssi.SSI(lsi_weight=0))


def measured(label: str, kind: str, folds: Sequence[Task], seeds: int) -> dict[str, Any]:
    """Return what the three reach on the test sides, what they take, and their differences."""
    rows, values = {}, {}
    for row in ROWS:
        values[row], rows[row] = expect.row_of(partial(model_of, row), folds, seeds)
    return {
        "set": label,
        "kind": kind,
        "pairs": expect.pairs_of(folds),
        "valid_pairs": round(np.mean([len(fold.valid) for fold in folds])),
        "folds": len(folds),
        "test_queries": len(values[ROWS[0]]),
        "seeds": seeds,
        "rows": rows,
        "share": rows["SSI()"]["mean"] / rows["auto"]["mean"],
        "differences": [_difference(ours, theirs, values) for ours, theirs in COMPARED],
    }


def _difference(ours: str, theirs: str, values: Mapping[str, Any]) -> dict[str, Any]:
    gain = values[ours] - values[theirs]
    return {
        "of": ours,
        "from": theirs,
        "mean": float(gain.mean()),
        "se": float(gain.std(ddof=1) / np.sqrt(len(gain))),
        "p": paired_randomisation(values[ours], values[theirs]) if gain.any() else 1.0,
    }


def table(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines of Markdown: a set each, what each model reaches, and its CPU seconds."""
    for one in _in_order(results):
        rows = one["rows"]
        least, documented, auto, random = (rows[row] for row in ROWS)
        cells = [
            one["kind"],
            f"{one['pairs']:,}",
            one["set"],
            f"{one['test_queries']:,}",
            f"{least['model']} {least['mean']:.3f}",
            f"{random['mean']:.3f}",
            f"{documented['mean']:.3f}",
            f"{auto['mean']:.3f}",
            f"{one['share']:.2f}",
            " / ".join(f"{rows[row]['cpu_seconds']:.0f}" for row in ROWS[:3]),
        ]
        yield f"| {' | '.join(cells)} |"


def compared(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each comparison over all sets, tested on each with Holm; sets weigh the same."""
    rows = []
    for number, (ours, theirs) in enumerate(COMPARED):
        tests = [one["differences"][number] for one in _in_order(results)]
        told = holm([test["p"] for test in tests]) < _LEVEL
        means = np.array([test["mean"] for test in tests])
        error = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.inf
        half = stats.t.ppf(0.975, max(1, len(means) - 1)) * error
        mean = float(means.mean())
        rows.append(
            {
                "of": ours,
                "from": theirs,
                "sets": len(means),
                "above": int((told & (means > 0)).sum()),
                "below": int((told & (means < 0)).sum()),
                "mean": mean,
                **({"low": mean - half, "high": mean + half} if len(means) > 1 else {}),
            }
        )
    return rows


def summary(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines of Markdown: a comparison each."""
    for row in rows:
        interval = f" ({row['low']:+.3f} to {row['high']:+.3f})" if "low" in row else ""
        cells = [
            f"`{row['of']}` beside `{row['from']}`".replace(
                "`learns nothing`", "what learns nothing"
            ),
            *(str(row[name]) for name in ("sets", "above", "below")),
            f"{row['mean']:+.3f}{interval}",
        ]
        yield f"| {' | '.join(cells)} |"


def _in_order(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(results, key=lambda one: (one["kind"], one["set"], one["pairs"]))


def main() -> None:
    """Measure what the file lacks, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="LABEL=DATA:KIND")
    parser.add_argument("--pairs", type=int, nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    results = json.loads(given.out.read_text())["results"] if given.out.exists() else []
    known = {(one["set"], one["kind"], one["pairs"]) for one in results}
    for label, place in (one.split("=", 1) for one in given.tasks):
        data, kind = place.rsplit(":", 1)
        whole = expect.folds_of(data, kind)
        for pairs in [*(n for n in given.pairs if n < len(whole[0].train)), None]:
            folds = [expect.share_of(division, pairs) for division in whole]
            if (label, kind, expect.pairs_of(folds)) not in known:
                results.append(measured(label, kind, folds, given.seeds))
                found = {"results": results, "compared": compared(results)}
                write_result(given.out, {"comparison": "goals", **found})
                print(*table(results[-1:]), sep="\n", flush=True)
    print(*table(results), "", *summary(compared(results)), sep="\n")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
