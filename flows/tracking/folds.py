"""Models of the further folds of a row: artifacts ``fold-2``, ``fold-3``, ... of its run.

The model of the first fold is the logged model of the run.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import mlflow
from mlflow.exceptions import MlflowException

from flows import environment
from flows.servers.processes import own_name
from flows.tracking.database import client
from flows.tracking.models import local, logged_model, model_directory
from ssi_core.types import BadInput


def log_fold(run_id: str, number: int, directory: Path) -> None:
    """Keep the saved model of a fold, counted from 1, with a run."""
    client().log_artifacts(run_id, str(directory), _name(number))


def fold_directory(model: str, number: int) -> Path:
    """Return the directory of the model that a run trained in a fold.

    Parameters
    ----------
    model : str
        Id of a run, or a version or alias of a registered model.
    number : int
        Of the fold, from 1.

    Raises
    ------
    BadInput
        There is no such run, or it has kept no model of that fold.
    """
    if number == 1:
        return model_directory(model)
    try:
        run = _run_of(model)
        kept = local(str(client().get_run(run).info.artifact_uri)) / _name(number)
        if kept.is_dir():
            return kept
        path = environment.home() / "models" / f"{run}-{_name(number)}"
        if not path.is_dir():
            _download(run, number, path)
    except (MlflowException, OSError) as error:
        raise BadInput(
            f"model {model!r} has no model of fold {number}: {error} Train the row again, which "
            "keeps the models of all folds, or name fold 1 (--fold 1)."
        ) from error
    return path


def _name(number: int) -> str:
    return f"fold-{number}"


def _run_of(model: str) -> str:
    if model.startswith("models:/"):
        return str(client().get_logged_model(logged_model(model)).source_run_id)
    return model.removeprefix("runs:/")


def _download(run: str, number: int, path: Path) -> None:
    """Bring the model of a fold here; it has its name once it is whole."""
    space = environment.home() / "tmp" / own_name()
    for directory in (space, path.parent):
        directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=space) as inner:
        address = f"runs:/{run}/{_name(number)}"
        brought = Path(mlflow.artifacts.download_artifacts(address, dst_path=inner))
        try:
            brought.rename(path)
        except OSError:
            # Another process was first; what it brought is the same.
            if not path.is_dir():
                raise
