"""Summaries in MLflow: a run for each row of a table, with its measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlflow.entities import Param

from flows.tracking.database import client, experiment_id
from flows.tracking.rows import RowRun, end_abandoned, open_run

EXPERIMENT = "summaries"


@contextmanager
def summary_run(label: str, data: Path, parameters: Mapping[str, Any]) -> Iterator[RowRun]:
    """Open the run of a row of a table of summaries; see `rows.open_run`.

    Parameters
    ----------
    label : str
        Label of the row.
    data : Path
        Questions that are measured.
    parameters : mapping
        Settings before any is chosen; what was chosen is in ``facts.json``.
    """
    experiment = experiment_id(EXPERIMENT)
    end_abandoned(experiment)
    tags = {
        "kind": "summaries",
        "row": label,
        "mlflow.note.content": f"Summaries of {data} by {label}",
    }
    with open_run(experiment, f"{label} on {data.name}", tags, plotted=False) as run:
        given = {"data": str(data.resolve()), **parameters}
        params = [Param(name, str(value)) for name, value in given.items()]
        client().log_batch(run.run_id, params=params)
        yield run
