"""Rows of a comparison in MLflow: a run for each, in the experiment of their verb."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlflow.entities import Param

from flows.tracking.database import client, experiment_id
from flows.tracking.rows import RowRun, end_abandoned, open_run


@contextmanager
def experiment_run(
    experiment: str, label: str, data: Path, parameters: Mapping[str, Any]
) -> Iterator[RowRun]:
    """Open the run of a row; see `rows.open_run`.

    Parameters
    ----------
    experiment : str
        Name of the experiment, and kind of its runs: that of the verb.
    label : str
        Label of the row.
    data : Path
        What it is computed on.
    parameters : mapping
        Hyper-parameters, and settings of the comparison, before any is chosen.
    """
    known = experiment_id(experiment)
    end_abandoned(known)
    note = f"{label} on {data}"
    tags = {"kind": experiment, "row": label, "mlflow.note.content": note}
    with open_run(known, f"{label} on {data.name}", tags, plotted=False) as run:
        given = {"data": str(data.resolve()), **parameters}
        params = [
            Param(name, json.dumps(value) if isinstance(value, tuple) else str(value))
            for name, value in given.items()
        ]
        client().log_batch(run.run_id, params=params)
        yield run
