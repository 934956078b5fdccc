"""What the rows of the table five-papers cost: training, memory, size, time of a query.

    python -m benchmarks.five_papers TASK COMPARISON > docs/results/five-papers-costs-NAME.json

TASK is the directory of the task of the comparison. A query is scored against
all titles of the log, one at a time and on one thread: the median of the CPU time of a hundred.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from flows import tracking
from flows.reporting.compare import load
from ssi_core.models import load_model
from ssi_core.scoring.scorer import Scorer
from ssi_core.tasks.task import open_task
from ssi_core.types import Task

QUERIES = 100


def main() -> None:
    """Measure the first seed of each row."""
    tracking.ready()
    task, loaded = open_task(Path(sys.argv[1])), load("five-papers", sys.argv[2])
    rows = {}
    for run in loaded.runs:
        if run.seed == 0:
            used = {
                name: run.metrics[f"usage/{name}"] for name in ("row_seconds", "peak_memory_mib")
            }
            rows[run.label] = {
                **{name: round(value, 1) for name, value in used.items()},
                "model_mib": round(mebibytes(tracking.model_directory(run.run_id)), 1),
                "query_ms": round(milliseconds(run.run_id, task), 2),
            }
            print(run.label, rows[run.label], file=sys.stderr)
    result = {"comparison": loaded.comparison, "documents": len(task.documents), "rows": rows}
    print(json.dumps(result, indent=1, ensure_ascii=False))


def mebibytes(directory: Path) -> float:
    """Return the size of the files of a model."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 2**20


def milliseconds(run_id: str, task: Task) -> float:
    """Return the median CPU time of a query against all documents."""
    fitted: Any = load_model(tracking.model_directory(run_id))
    asked = np.unique(task.test.rows[:, 0])[:QUERIES]
    everything, times = np.ones((1, len(task.documents)), np.bool_), []
    with threadpool_limits(1):
        scorer = Scorer(fitted.embed_documents(task.documents), threads=1)
        for row in np.concatenate([asked[:1], asked]):  # the first one compiles
            text = task.queries.take(np.array([row], np.int32))
            began = time.process_time()
            scorer.score(fitted.embed_queries(text), everything)
            times.append(time.process_time() - began)
    return 1000 * float(np.median(times[1:]))


if __name__ == "__main__":
    main()
