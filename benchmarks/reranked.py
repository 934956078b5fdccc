"""What a reranker costs a query: the first stage alone, the features, the ranker.

    python -m benchmarks.reranked MODEL TASK [QUERIES]

MODEL is what ``ssi rerank fit TASK --models`` has written. One thread; medians of CPU time over
test queries, each of which is asked alone, as a search asks it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from ssi_core.evaluation.second_stage import reorder
from ssi_core.models.parts import fitted_parts
from ssi_core.serving.searcher import open_searcher
from ssi_core.tasks.task import open_task
from ssi_core.threads import limited


def milliseconds(call: Callable[[], object]) -> tuple[float, object]:
    began = time.thread_time()
    value = call()
    return (time.thread_time() - began) * 1e3, value


def measure(model: Path, task_path: Path, queries: int) -> dict[str, float]:
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


def main() -> None:
    model, task = map(Path, sys.argv[1:3])
    queries = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    with limited(1):
        print(json.dumps(measure(model, task, queries)))


if __name__ == "__main__":
    main()
