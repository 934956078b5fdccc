"""Models in MLflow: raw text in, titles and scores out, nothing pickled."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import Model

import ssi_core
from flows import environment
from flows.costs import require_index
from flows.processes import own_name
from flows.tracking.database import client, quiet
from flows.tracking.requirements import requirements
from ssi_core import store
from ssi_core.features.task import open_task
from ssi_core.models import load_model
from ssi_core.serving.index import build_index
from ssi_core.types import BadInput, Task

logger = logging.getLogger(__name__)


class _Unrehearsed:
    """MLflow's Python flavour, without the rehearsal of the example.

    The rehearsal would compile the kernels of the search in every process that trains a row.
    """

    @staticmethod
    def save_model(*, validate_serving_input: bool, **given: Any) -> None:
        mlflow.pyfunc.save_model(**given)


def log_model(experiment: str, run_id: str, directory: Path, languages: Collection[str]) -> str:
    """Log a model directory as a model that MLflow serves; return its id.

    Parameters
    ----------
    experiment : str
        Id of the experiment.
    run_id : str
        The run that trained the model.
    directory : Path
        The saved model; `searchable_directory` puts its index beside it.
    languages : Collection[str]
        Languages that the model reads: some need packages of their own.
    """
    # Created first: left to itself, MLflow puts a logged model into the default experiment.
    model = client().create_logged_model(experiment, name="model", source_run_id=run_id)
    # MLflow keeps an artifact under the name of its directory, which loading relies on.
    with quiet(), tempfile.TemporaryDirectory(prefix="ssi-") as folder:
        from flows import pyfunc_model

        shutil.copytree(directory, Path(folder) / "model")
        Model.log(
            None,
            _Unrehearsed,
            validate_serving_input=False,
            run_id=run_id,
            model_id=model.model_id,
            python_model=pyfunc_model.__file__,
            artifacts={"model": str(Path(folder) / "model")},
            code_paths=[next(iter(ssi_core.__path__))],
            # Given, so that MLflow does not start a process to find them out.
            pip_requirements=requirements(languages),
            signature=pyfunc_model.signature(),
            input_example=(pd.DataFrame({"query": ["an old car"]}), {"k": 3}),
        )
    return str(model.model_id)


def model_directory(model: str) -> Path:
    """Return the directory of a model: ``model.json`` is in it, and its index may lie beside it.

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
        place = _local(client().get_logged_model(logged).artifact_location)
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


def searchable_directory(model: str) -> Path:
    """Return the directory of a model, as `model_directory` does, with an index beside it.

    A model gets its index when somebody first searches, serves or promotes it: an index grows with
    the corpus, and most rows of a table are only measured. It is made from the documents of the
    task that the model was trained on, and MLflow keeps it with the model.

    Raises
    ------
    BadInput
        There is no such model, or it has no index and its task is gone.
    """
    place = model_directory(model)
    if not Path(model).is_dir() and not (place.parent / "index" / store.MANIFEST).is_file():
        _add_index(logged_model(model), place)
    return place


def _add_index(logged: str, place: Path) -> None:
    described = client().get_logged_model(logged)
    run = str(described.source_run_id)
    task = _task_of(run)
    fitted, index = load_model(place), place.parent / "index"
    require_index(fitted.model, task, index, words=True)
    logger.info("making the index of run %s, which MLflow keeps with its model", run)
    build_index(fitted, task.documents, index, parents={"task": task.key, "run": run})
    if not _local(described.artifact_location).is_dir():
        _upload(logged, index)


def _task_of(run: str) -> Task:
    tags = client().get_run(run).data.tags
    path, key = Path(tags.get("task_path", "")), tags.get("task", "")
    try:
        artefact = store.read(path, "task")
    except BadInput as error:
        raise BadInput(
            f"the model of run {run} has no index, and the task to make one from is gone: {error} "
            "Or name an index (--index)."
        ) from error
    if artefact.key != key:
        raise BadInput(
            f"the model of run {run} has no index, and {path} holds another task by now (key "
            f"{artefact.key[:12]}, wanted {key[:12]}). Name an index (--index)."
        )
    return open_task(path)


def _upload(logged: str, index: Path) -> None:
    """Bring an index to where MLflow keeps the model; its manifest, which counts, comes last."""
    space = environment.home() / "tmp" / own_name()
    space.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=space) as folder:
        whole = Path(folder) / "artifacts" / "index"
        shutil.copytree(index, whole, copy_function=store.link)
        manifest = whole / store.MANIFEST
        manifest.unlink()
        client().log_model_artifacts(logged, folder)
        shutil.rmtree(whole)
        whole.mkdir()
        store.link(index / store.MANIFEST, manifest)
        client().log_model_artifacts(logged, folder)


def _local(address: str) -> Path:
    return Path(address.removeprefix("file://"))


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
