"""Indexes of logged models: made when a model is first searched, served or promoted."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import ssi_core
from flows import environment
from flows.serve.pyfunc_model import check_sealed
from flows.servers.processes import own_name
from flows.tracking import models
from flows.tracking.database import client
from ssi_core import store
from ssi_core.models import load_model
from ssi_core.serving.cost import require_index
from ssi_core.serving.index import build_index
from ssi_core.tasks.fields import names_of_task
from ssi_core.tasks.reading import raw_texts
from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput, Task

logger = logging.getLogger(__name__)


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
    path = models.model_directory(model)
    if not Path(model).is_dir() and not (path.parent / "index" / store.MANIFEST).is_file():
        _add_index(models.logged_model(model), path)
    return path


def _add_index(logged: str, path: Path) -> None:
    described = client().get_logged_model(logged)
    run = str(described.source_run_id)
    task = _task_of(run)
    fitted, index = load_model(path), path.parent / "index"
    texts = raw_texts(task.path) if task.path else []
    require_index(fitted, task.documents, index, words=True, texts=texts)
    logger.info("making the index of run %s, which MLflow keeps with its model", run)
    parents, code = {"task": task.key, "run": run}, path.parents[1] / "code"
    if _sources(code / ssi_core.__name__) == _sources(models.CODE):
        names = names_of_task(task.path) if task.path else None
        build_index(fitted, task.documents, index, parents=parents, texts=texts, names=names)
    else:
        check_sealed(path.parents[1])
        _build_with(code, path, task, index, parents, texts)
    if not models.local(described.artifact_location).is_dir():
        _upload(logged, index)


def _sources(package: Path) -> dict[str, bytes]:
    files = sorted(package.rglob("*.py"))
    return {str(file.relative_to(package)): file.read_bytes() for file in files}


_BUILD = """
import inspect, json, sys
from pathlib import Path
from ssi_core.tasks.task import open_task
from ssi_core.models import load_model
from ssi_core.serving.index import build_index
model, task, index = map(Path, sys.argv[1:4])
how = {"parents": json.loads(sys.argv[4]), "texts": [Path(part) for part in sys.argv[5:]]}
try:
    from ssi_core.tasks.fields import names_of_task
    how["names"] = names_of_task(task)
except ImportError:
    pass
known = inspect.signature(build_index).parameters
how = {name: value for name, value in how.items() if name in known}
build_index(load_model(model), open_task(task).documents, index, **how)
"""


def _build_with(
    code: Path,
    model: Path,
    task: Task,
    index: Path,
    parents: Mapping[str, str],
    texts: Sequence[Path],
) -> None:
    """Build an index with the code that a model brings, which will read it in MLflow's server.

    Code that knows no texts, or no names, makes an index without them.
    """
    arguments = [str(model), str(task.path), str(index), json.dumps(dict(parents))]
    arguments += map(str, texts)
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, *arguments],
        env={**os.environ, "PYTHONPATH": str(code)},
        # Not where a package of the same name could lie.
        cwd=code,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        why = done.stderr.strip().rpartition("\n")[2]
        raise BadInput(
            f"the code that trained run {parents['run']} cannot make its index: {why}. Train the "
            "row again, or name an index (--index)."
        )


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
