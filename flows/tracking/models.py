"""Models in MLflow: raw text in, titles and scores out, nothing pickled."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mlflow
import pandas as pd
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.models import Model
from mlflow.utils import environment as environment_of_models

import ssi_core
from flows import environment
from flows.serve import pyfunc_model
from flows.servers.processes import own_name
from flows.tracking.database import client, quiet
from flows.tracking.requirements import requirements
from ssi_core import integrity
from ssi_core.types import BadInput

CODE = Path(next(iter(ssi_core.__path__)))
"""The package that a logged model brings a copy of."""


class _Unrehearsed:
    """MLflow's Python flavour, without a rehearsal of the example and a look at the packages.

    The rehearsal would compile the kernels of the search in every process that trains a row, and
    the look reads the lists of files of all packages, three CPU seconds, to compare versions that
    `requirements` has just read.
    """

    @staticmethod
    def save_model(*, validate_serving_input: bool, **given: Any) -> None:
        with patch.object(environment_of_models, "warn_dependency_requirement_mismatches"):
            mlflow.pyfunc.save_model(**given)
        path = Path(given["path"])
        for compiled in path.rglob("__pycache__"):  # MLflow removes them next
            shutil.rmtree(compiled)
        integrity.seal_directory(path, pyfunc_model.SEALED, {}, durable=False)


def log_model(
    experiment: str, run_id: str, name: str, directory: Path, languages: Collection[str]
) -> str:
    """Log a model directory as a model that MLflow serves; return its id.

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    run_id : str
        The run that trained the model.
    name : str
        Name on MLflow's pages, such as that of the run.
    directory : Path
        The saved model; `searchable_directory` puts its index beside it.
    languages : collection of str
        Languages that the model reads: some need packages of their own.
    """
    # Created first: left to itself, MLflow puts a logged model into the default experiment.
    model = client().create_logged_model(experiment, name=_allowed(name), source_run_id=run_id)
    # MLflow keeps an artifact under the name of its directory, which loading relies on.
    with quiet(), tempfile.TemporaryDirectory(prefix="ssi-") as folder:
        shutil.copytree(directory, Path(folder) / "model")
        Model.log(
            None,
            _Unrehearsed,
            validate_serving_input=False,
            run_id=run_id,
            model_id=model.model_id,
            python_model=pyfunc_model.__file__,
            artifacts={"model": str(Path(folder) / "model")},
            code_paths=[str(CODE)],
            # Given, so that MLflow does not start a process to find them out.
            pip_requirements=requirements(languages),
            signature=pyfunc_model.signature(),
            input_example=(pd.DataFrame({"query": ["an old car"]}), {"k": 3}),
        )
    return str(model.model_id)


def _allowed(name: str) -> str:
    """Return a name that MLflow takes for a model: it has six signs that it does not."""
    # A prime says what the apostrophe of a label means: U'V is U transposed times V.
    return name.translate({ord("'"): "\N{PRIME}", **dict.fromkeys(map(ord, '/:.%"'), "_")})


def model_directory(model: str) -> Path:
    """Return the directory of a model: ``model.json`` is in it, and its index may lie beside it.

    Parameters
    ----------
    model : str
        A directory, the id of a run, or ``models:/NAME@ALIAS``.

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
        path = local(client().get_logged_model(logged).artifact_location)
        if not path.is_dir():
            path = environment.home() / "models" / logged
        if not path.is_dir():
            _download(logged, path)
    except MlflowException as error:
        said = f"and MLflow says: {error.message.rstrip('.')}"
        said = "but a file" if Path(model).is_file() else said
        raise BadInput(
            f"no model {model!r}: it is no directory, {said}. A model is a directory that 'ssi "
            "fit' wrote, the id of a run, or models:/NAME@ALIAS."
        ) from error
    return path / "artifacts" / "model"


def training_of(model: str) -> Mapping[str, str]:
    """Return the tags of the run that trained a model; none of a directory, which has no run.

    Parameters
    ----------
    model : str
        As in `model_directory`.
    """
    if Path(model).is_dir():
        return {}
    run = client().get_logged_model(logged_model(model)).source_run_id
    return dict(client().get_run(run).data.tags) if run else {}


def local(address: str) -> Path:
    """Return the directory of artifacts that are not behind a server; else it is not there."""
    return Path(address.removeprefix("file://"))


def _download(logged: str, path: Path) -> None:
    """Bring a logged model here; it has its name once it is whole."""
    # Where the next command clears what a killed one left.
    space = environment.home() / "tmp" / own_name()
    for directory in (space, path.parent):
        directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=space) as inner:
        mlflow.artifacts.download_artifacts(f"models:/{logged}", dst_path=f"{inner}/model")
        try:
            Path(inner, "model").rename(path)
        except OSError:
            # Another process was first; what it brought is the same.
            if not path.is_dir():
                raise


def logged_model(model: str) -> str:
    """Return the id of the logged model of a run, or of a version or alias of a registered one."""
    if model.startswith("models:/"):
        name = model.removeprefix("models:/")
        if "@" not in name and "/" not in name:
            return name
        if "@" in name:
            version = client().get_model_version_by_alias(*name.rsplit("@", 1))
        else:
            version = client().get_model_version(*name.rsplit("/", 1))
        return str(version.model_id or version.source.removeprefix("models:/"))
    return model_of(client().get_run(model.removeprefix("runs:/")))


def model_of(run: Run) -> str:
    """Return the id of the model that a run has logged; `BadInput` where it has none."""
    if not run.outputs or not run.outputs.model_outputs:
        raise BadInput(f"run {run.info.run_id} has logged no model.")
    return str(run.outputs.model_outputs[-1].model_id)
