"""What a reranker gains over its first stage, and what it costs a query, as a result file.

    ssi rank rerank fit TASK --models A,B --out MODEL --json > FIT.json
    python -m benchmarks.reranked RESULT NAME FIT.json TASK [--alone FEATURE] [--queries N]

adds the entry NAME to the file RESULT: the measures of FIT.json, and medians of CPU time over test
queries, each of which is asked alone, as a search asks it, on one thread. ``--alone`` measures the
model of a feature by itself, and tests what is reranked against it; the task has no folds then.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ssi_core import files
from ssi_core.face.compare import compare
from ssi_core.face.models import Ranker, load
from ssi_core.face.task import Task
from ssi_core.guests.reranking.first_stage import feature_names
from ssi_core.guests.reranking.reranked import Reranked
from ssi_core.models.combined.parts import fitted_parts
from ssi_core.resources import limited
from ssi_core.scoring.two_stage import reorder
from ssi_core.serving.searcher import open_searcher
from ssi_core.tasks.task import open_task

MEASURES = ("map", "ndcg_at_10", "p_at_10")


def milliseconds(call: Callable[[], object]) -> tuple[float, object]:
    began = time.thread_time()
    value = call()
    return (time.thread_time() - began) * 1e3, value


def cost(model: Path, task_path: Path, queries: int) -> dict[str, float]:
    """Return medians in milliseconds of CPU time."""
    searcher, opened = open_searcher(model), open_task(task_path)
    task = opened.folds[0] if opened.folds else opened
    first = fitted_parts(searcher.fitted)[0]
    rows = np.unique(task.test.rows[:, 0])
    rows = np.random.default_rng(0).permutation(rows)[: queries + 1]
    parts: dict[str, list[float]] = {"first stage": [], "features": [], "ranker": []}
    for number, row in enumerate(rows):
        text = task.queries.take([row])
        alone, _ = milliseconds(lambda text=text: searcher.best(first.embed_queries(text), 10))
        vectors = searcher.embed(text, "query")
        second = vectors.second
        assert second is not None
        whole, (_, values) = milliseconds(
            lambda text=text, second=second: searcher.first_documents(
                searcher.embed(text, "query"), second.depth
            )
        )
        ranker, _ = milliseconds(lambda values=values, second=second: reorder(second(values)))
        if number:  # the first one compiles
            parts["first stage"].append(alone)
            parts["features"].append(whole - alone)
            parts["ranker"].append(ranker)
    return {name: median(values) for name, values in parts.items()}


def median_cost(model: Path, task: Path, queries: int, repeats: int) -> dict[str, float]:
    """Return the median of several measurements, of each part."""
    times = [cost(model, task, queries) for _ in range(repeats)]
    return {name: round(median(one[name] for one in times), 3) for name in times[0]}


def alone(model: Path, task_path: Path, feature: str) -> list[dict[str, Any]]:
    """Measure the model of a feature by itself, and the whole model, with p against it."""
    task, whole = Task.open(task_path), load(model)
    reranked = whole.fitted_.model
    assert isinstance(reranked, Reranked)
    part = fitted_parts(whole.fitted_)[feature_names(reranked.models()).index(feature)]
    one = Ranker(part.model.name, **vars(part.model)).take(task, [part], [])
    rows = {f"{feature} alone": one, "reranked": whole}
    return compare(rows, task, measures=MEASURES, baseline=f"{feature} alone").frame.to_dicts()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("name")
    parser.add_argument("fit", type=Path)
    parser.add_argument("task", type=Path)
    parser.add_argument("--alone", metavar="FEATURE")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    fit = json.loads(given.fit.read_text())
    entry = {name: fit[name] for name in ("ranker", "features", "queries", "measures")}
    model = Path(fit["path"])
    with limited(1):
        entry["cpu_ms_of_a_query"] = median_cost(model, given.task, given.queries, given.repeats)
        if given.alone is not None:
            entry["alone"] = alone(model, given.task, given.alone)
    held = json.loads(given.result.read_text()) if given.result.exists() else {}
    with files.writing(given.result.parent):
        files.write_result(given.result, held | {given.name: entry})
    print(json.dumps(entry, indent=1))


if __name__ == "__main__":
    main()
