"""What a person types, on validation: titles that their page lacks, and three words of a page.

    python -m benchmarks.typed COLLECTION --work DIRECTORY --out typed.json

The collection has links. The task's queries are titles, cut out of their pages; three words of a
page and links are beside it. Each row is measured on the validation side of all three: BM25, the
settings of `SSI()` learnt on links, and BM25 with a latent part that is learnt on links, with the
lengths of documents as learnt and with one length for all.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.auto import FIXED
from ssi_core.estimator import parse
from ssi_core.evaluation.comparison import value_text
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.significance import paired_randomisation
from ssi_core.files import write_result
from ssi_core.models import MODELS
from ssi_core.models.base import FittedModel
from ssi_core.models.bilinear.lengths import with_one_length
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import Task

VIEWS = ("counts", "raw", "sublinear", "sublinear:50", "bm25")
KINDS = ("titles", "words:3", "link")
SHOWN = {"titles": "mrr", "words:3": "mrr", "link": "map"}
LENGTHS = (0.5, 1.0, 2.0)
BASE = "BM25"
WITH_BM25 = {
    "diagonal": "alpha",
    "alpha": 1.0,
    "diagonal_view": "bm25",
    "diagonal_rate": 0.0,
    "learn_on": "link",
}


def rows(budget: int) -> dict[str, tuple[Mapping[str, Any], Sequence[float]]]:
    """Return the rows by their labels: a model, and the lengths that it is measured with, too."""
    learnt = {**FIXED, "budget": budget}
    return {
        BASE: ({"model": "bm25"}, ()),
        "`U'V + D`, links": ({**learnt, "learn_on": "link"}, LENGTHS),
        "BM25 + `U'V`, links": ({**learnt, **WITH_BM25}, LENGTHS),
    }


def variants(
    task: Task, row: Mapping[str, Any], lengths: Sequence[float], seed: int
) -> Iterator[tuple[str, FittedModel]]:
    """Fit a row, and yield it with each length, and the name of that."""
    model = parse(MODELS[row["model"]], {k: v for k, v in row.items() if k != "model"})
    fit = model.fit(task, np.random.default_rng([seed]))
    yield "as learnt" if lengths else "", fit
    for length in lengths:
        yield f"{length:g}", with_one_length(fit, task.documents, (length,), lambda one: 0.0)


def measured(fit: FittedModel, task: Task) -> dict[str, pl.DataFrame]:
    """Return the values of each query of validation, for each kind of query."""
    tasks = {"titles": task, **{kind: task.auxiliary[kind] for kind in KINDS[1:]}}
    return {
        kind: evaluate(fit, one, side="valid", queries=10_000, tuples=0).per_query.sort("id")
        for kind, one in tasks.items()
    }


def result(
    label: str, length: str, frames: Mapping[str, pl.DataFrame], base: Mapping[str, pl.DataFrame]
) -> dict[str, Any]:
    """Return means, errors, and p against BM25 (two-sided, paired by query)."""
    kinds = {}
    for kind, name in SHOWN.items():
        values, others = (frame[kind][name].to_numpy() for frame in (frames, base))
        error = values.std(ddof=1) / np.sqrt(len(values))
        kinds[kind] = {"mean": float(values.mean()), "se": float(error), "queries": len(values)}
        if label != BASE:
            kinds[kind]["p"] = paired_randomisation(values, others)
    popular = float(frames["link"]["popular_at_10"].mean())
    return {"row": label, "length": length, "kinds": kinds, "popular_at_10": popular}


def line(one: Mapping[str, Any]) -> str:
    """Return a row in Markdown; ``+`` and ``-`` differ from BM25 (p < .05)."""
    cells = [one["row"], one["length"]]
    for kind, name in SHOWN.items():
        value = one["kinds"][kind]
        sign = ""
        if value.get("p", 1.0) < 0.05:
            sign = "+ " if value["mean"] > one["base"][kind] else "- "
        cells.append(sign + value_text(name, value["mean"], value["se"]))
    cells.append(f"{one['popular_at_10']:.2f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure all rows and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.typed", description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="directory that keeps the task")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget", type=int, default=400_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    path = given.work / "task"
    if not path.exists():
        fields = {"relevant": "self", "queries": "titles", "auxiliary": KINDS[1:]}
        build_task(given.collection, path, views=VIEWS, **fields)
    task, results, base = open_task(path), [], None
    for label, (row, lengths) in rows(given.budget).items():
        for length, fit in variants(task, row, lengths, given.seed):
            frames = measured(fit, task)
            base = base or frames
            results.append(result(label, length, frames, base))
            means = {kind: value["mean"] for kind, value in results[0]["kinds"].items()}
            print(line({**results[-1], "base": means}), flush=True)
            write_result(given.out, {"comparison": "typed", "rows": results})


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
