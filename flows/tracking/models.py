"""Models in MLflow: raw text in, titles and scores out, nothing pickled."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import Model

import flows
import ssi_core
from flows import environment
from flows.processes import own_name
from flows.tracking.database import client, quiet
from ssi_core.types import BadInput

_PACKAGES = ("numpy", "scipy", "numba", "polars", "threadpoolctl", "mlflow")
"""What a logged model needs to rank text."""


class _Unrehearsed:
    """MLflow's Python flavour, without the rehearsal of the example.

    The rehearsal would compile the kernels of the search in every process that trains a row.
    """

    @staticmethod
    def save_model(*, validate_serving_input: bool, **given: Any) -> None:
        mlflow.pyfunc.save_model(**given)


def log_model(experiment: str, run_id: str, artifacts: Mapping[str, str]) -> str:
    """Log a model directory and its index as a model that MLflow serves; return its id.

    Parameters
    ----------
    experiment : id
    run_id : the run that made it
    artifacts : "model" and, unless it is too large, "index" -> directory of that name
    """
    # Created first: left to itself, MLflow puts a logged model into the default experiment.
    model = client().create_logged_model(experiment, name="model", source_run_id=run_id)
    with quiet():
        from flows import pyfunc_model

        Model.log(
            None,
            _Unrehearsed,
            validate_serving_input=False,
            run_id=run_id,
            model_id=model.model_id,
            python_model=pyfunc_model.__file__,
            artifacts=dict(artifacts),
            code_paths=[str(next(iter(package.__path__))) for package in (flows, ssi_core)],
            # Given, so that MLflow does not start a process to find them out.
            pip_requirements=[f"{name}=={version(name)}" for name in _PACKAGES],
            signature=pyfunc_model.signature(),
            input_example=(pd.DataFrame({"query": ["an old car"]}), {"k": 3}),
        )
    return str(model.model_id)


def model_directory(model: str) -> Path:
    """Return the directory of a model: ``model.json`` is in it, and its index lies beside it.

    Parameters
    ----------
    model : a directory, the id of a run, or ``models:/NAME@ALIAS``

    Raises
    ------
    BadInput
        There is none of that name, or no model was logged there.
    """
    if Path(model).is_dir():
        inner = Path(model) / "model"
        return inner if (inner / "model.json").is_file() else Path(model)
    try:
        logged = logged_model(model)
        place = Path(client().get_logged_model(logged).artifact_location.removeprefix("file://"))
        if not place.is_dir():
            place = environment.home() / "models" / logged
        if not place.is_dir():
            _download(logged, place)
    except MlflowException as error:
        raise BadInput(
            f"no model {model!r}: {error.message} A model is a directory, the id of a run, or "
            "models:/NAME@ALIAS."
        ) from error
    return place / "artifacts" / "model"


def _download(logged: str, place: Path) -> None:
    """Bring a logged model here; it has its name once it is whole."""
    # Where the next command clears what a killed one left.
    space = environment.home() / "tmp" / own_name()
    for directory in (space, place.parent):
        directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=space) as inner:
        mlflow.artifacts.download_artifacts(f"models:/{logged}", dst_path=f"{inner}/model")
        try:
            Path(inner, "model").rename(place)
        except OSError:
            # Another process was first; what it brought is the same.
            if not place.is_dir():
                raise


def logged_model(model: str) -> str:
    """Return the id of the logged model of a run, or of a version or alias of a registered one."""
    if model.startswith("models:/"):
        name = model.removeprefix("models:/")
        if "@" not in name and "/" not in name:
            return name
        if "@" in name:
            found = client().get_model_version_by_alias(*name.rsplit("@", 1))
        else:
            found = client().get_model_version(*name.rsplit("/", 1))
        return str(found.model_id or found.source.removeprefix("models:/"))
    outputs = client().get_run(model.removeprefix("runs:/")).outputs
    if not outputs or not outputs.model_outputs:
        raise BadInput(f"run {model} has logged no model.")
    return str(outputs.model_outputs[-1].model_id)
