"""Measurements of a model on other data than its task in MLflow: a run each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from mlflow.entities import Param

from flows.tracking.database import client, experiment_id
from flows.tracking.rows import RowRun, end_abandoned, open_run
from ssi_core import store

EXPERIMENT = "evaluations"


@contextmanager
def evaluation_run(
    kind: Literal["evaluation", "estimate"],
    model: str,
    collection: Path,
    settings: Mapping[str, Any],
) -> Iterator[RowRun]:
    """Open the run of a measurement on a collection; see `rows.open_run`.

    Parameters
    ----------
    kind : "evaluation" or "estimate"
        "evaluation" measures rankings by relevant pairs, "estimate" clicks by a log.
    model : str
        As it was named.
    collection : Path
        What it is measured on.
    settings : Mapping
        Parameters of the run beside the two; those that are None are left out.
    """
    experiment = experiment_id(EXPERIMENT)
    end_abandoned(experiment)
    tags = {
        "kind": kind,
        "corpus": store.read(collection).key,
        "mlflow.note.content": f"{kind} of {model} on {collection}",
    }
    given = {"model": model, "collection": str(collection.resolve()), **settings}
    parameters = [Param(name, str(value)) for name, value in given.items() if value is not None]
    with open_run(experiment, f"{model} on {collection.name}", tags, plotted=False) as run:
        client().log_batch(run.run_id, params=parameters)
        yield run
