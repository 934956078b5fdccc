"""Hashers in MLflow: a run for each, whose curves have the length of the code as their step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mlflow.entities import Param

from flows.tracking.database import client, experiment_id
from flows.tracking.rows import RowRun, end_abandoned, open_run

EXPERIMENT = "codes"


@contextmanager
def codes_run(hasher: str, data: Path, parameters: Mapping[str, Any]) -> Iterator[RowRun]:
    """Open the run of a hasher on labelled texts; see `rows.open_run`.

    Parameters
    ----------
    hasher : str
        Name of the hasher.
    data : Path
        Labelled texts.
    parameters : mapping
        Hyper-parameters, and settings of the comparison.
    """
    experiment = experiment_id(EXPERIMENT)
    end_abandoned(experiment)
    tags = {
        "kind": "codes",
        "hasher": hasher,
        "mlflow.note.content": f"Curve of {hasher} over the length of the code on {data}",
    }
    with open_run(experiment, f"{hasher} on {data.name}", tags, plotted=False) as run:
        given = {"data": str(data.resolve()), "hasher": hasher, **parameters}
        params = [Param(name, str(value)) for name, value in given.items()]
        client().log_batch(run.run_id, params=params)
        yield run
