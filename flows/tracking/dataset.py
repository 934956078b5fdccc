"""The data of a run, as MLflow's pages show them: a task, its size, and what is in it."""

from __future__ import annotations

import json
from pathlib import Path

from mlflow.entities import Dataset
from mlflow.types import ColSpec, DataType, Schema
from mlflow.types.schema import Array

from ssi_core import store
from ssi_core.tasks.task import open_task
from ssi_core.types import Task


def dataset_of(name: str, artefact: store.Artefact) -> Dataset:
    """Return the data set of a task.

    Parameters
    ----------
    name : str
        Name that MLflow lists.
    artefact : Artefact
        Store.Artefact The task.
    """
    path = Path(artefact.path).resolve()
    return Dataset(
        name=name,
        digest=artefact.key[:32],  # MLflow has room for 36 characters
        source_type="local",
        source=json.dumps({"uri": str(path)}),
        schema=json.dumps({"mlflow_colspec": schema_of(open_task(path, tested=False)).to_dict()}),
        profile=json.dumps(dict(artefact.counts)),
    )


def schema_of(task: Task) -> Schema:
    """Return the columns of queries, documents and relevant pairs.

    A view is a row of word weights for each text; a pair is two rows, a query's and a document's.
    """
    columns = []
    for side, texts in (("queries", task.queries), ("documents", task.documents)):
        columns += [ColSpec(DataType.string, f"{side}.{name}") for name in ("id", "title")]
        columns += [ColSpec(Array(DataType.float), f"{side}.{view}") for view in texts.views]
    columns += [ColSpec(DataType.integer, f"pairs.{end}") for end in ("query", "document")]
    return Schema(columns)
