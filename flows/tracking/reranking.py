"""Rerankers in MLflow: a run for each row of a table, with the measures of each fold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlflow.entities import Param

from flows.tracking.database import client, experiment_id
from flows.tracking.rows import RowRun, end_abandoned, open_run

EXPERIMENT = "reranking"


@contextmanager
def reranking_run(
    label: str, data: Path, table: str, parameters: Mapping[str, Any]
) -> Iterator[RowRun]:
    """Open the run of a row of a table of rerankers; see `rows.open_run`.

    Parameters
    ----------
    label : str
        Label of the row.
    data : Path
        Folds that it is trained on.
    table : str
        Name of the table.
    parameters : mapping
        Name and hyper-parameters of the ranker.
    """
    experiment = experiment_id(EXPERIMENT)
    end_abandoned(experiment)
    tags = {
        "kind": "reranking",
        "table": table,
        "row": label,
        "mlflow.note.content": f"{label} of the table {table} on {data}",
    }
    with open_run(experiment, f"{label} on {data.name}", tags, plotted=False) as run:
        given = {"data": str(data.resolve()), **parameters}
        written = [
            Param(name, json.dumps(value) if isinstance(value, tuple) else str(value))
            for name, value in given.items()
        ]
        client().log_batch(run.run_id, params=written)
        yield run
