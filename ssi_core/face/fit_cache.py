"""A training that is made once: its models lie in the store, and a broken one goes on."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TypeVar

from ssi_core import files, store
from ssi_core.code import digest_of
from ssi_core.face.estimator import Estimator
from ssi_core.face.task import Task
from ssi_core.models import load_model
from ssi_core.store import Building

KIND = "fit"
_CURVE = "curve.json"

Trained = TypeVar("Trained", bound=Estimator)


def fit_once(model: Trained, task: Task, *, threads: int = 1) -> Trained:
    """Fit a model, or take what an earlier call with the same settings has trained.

    Parameters
    ----------
    model : Estimator
        Without a limit of seconds, which no other call repeats.
    threads : int
        Cores to train on.

    Returns
    -------
    the model, fitted
    """
    ranker = model.ranker()
    settings = {
        "model": ranker.name,
        **asdict(ranker),
        "random_state": model.random_state,
        "one_thread": threads == 1,
        "code": digest_of(*ranker.kinds(), *_makers(task)),
    }
    make = partial(_build, model=model, task=task, threads=threads)
    artefact = store.open_or_make(KIND, settings, {"task": task.key}, make)
    directories = [artefact.path / f"fold_{number}" for number in range(len(task.divisions))]
    model.reproducible_ = threads == 1 and ranker.repeats
    curve = files.read_object(artefact.path / _CURVE)["curve"]
    return model.take(task, [load_model(directory) for directory in directories], curve)


def _makers(task: Task) -> list[type]:
    """Return the class that adds to what a task reads of its files, where one does."""
    return [] if type(task) is Task else [type(task)]


def _build(building: Building, model: Estimator, task: Task, threads: int) -> None:
    model.fit(task, threads=threads, checkpoint=building.work("training"))
    for number, fold in enumerate(model.folds_):
        fold.write(building.path / f"fold_{number}")
    store.write_json(building.path / _CURVE, {"curve": model.curve_.to_dicts()})
    building.counts["models"] = len(model.folds_)
