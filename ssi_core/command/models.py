"""Directories of the models that a verb names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ssi_core.command.failures import WORKFLOW

if TYPE_CHECKING:
    from ssi_core.recorder import RowRecorder
    from ssi_core.types import Report


class Recorder(Protocol):
    """Keeps what was measured, as a run."""

    run_id: str

    def report(self, report: Report) -> None:
        """Keep a report."""
        ...

    def measured(self, values: Mapping[str, float]) -> None:
        """Keep further numbers."""
        ...

    def keep(self, path: Path) -> None:
        """Keep a file."""
        ...


class Registry(Protocol):
    """Finds the models of runs and of registered names."""

    def model_directory(self, model: str) -> Path:
        """Return the directory of a model."""
        ...

    def searchable_directory(self, model: str) -> Path:
        """Return the directory of a model that has an index; a run that has none gets it now."""
        ...

    def fold_directory(self, model: str, number: int) -> Path:
        """Return the directory of the model that a run trained in a fold."""
        ...

    def training_of(self, model: str) -> Mapping[str, str]:
        """Return the tags of the run that trained a model."""
        ...

    def evaluation_run(
        self,
        kind: Literal["evaluation"],
        model: str,
        collection: Path,
        settings: Mapping[str, Any],
    ) -> AbstractContextManager[Recorder]:
        """Open the run of a measurement on a collection."""
        ...

    def experiment_run(
        self, experiment: str, label: str, data: Path, parameters: Mapping[str, Any]
    ) -> AbstractContextManager[RowRecorder]:
        """Open the run of a row of a comparison."""
        ...


REGISTRY: list[Callable[[], Registry]] = []
"""Functions that open the registry; none without the workflow, where a model is a directory."""


def directory_of(model: str) -> Path:
    """Return the directory of a MODEL: a directory, a run id, or models:/NAME@ALIAS.

    Raises
    ------
    BadInput
        There is no such model.
    """
    if Path(model).is_dir():
        return Path(model)
    return Path(_registry(model).model_directory(model))


def searchable(model: str) -> Path:
    """Return the directory of a MODEL that has an index; a run that has none gets it now."""
    if Path(model).is_dir():
        return Path(model)
    return Path(_registry(model).searchable_directory(model))


def fold_directory(model: str, number: int) -> Path:
    """Return the directory of the model that a run trained in a fold."""
    return Path(_registry(model).fold_directory(model, number))


def training_of(model: str) -> Mapping[str, str]:
    """Return the tags of the run that trained a model; none of a directory, which has no run."""
    return {} if Path(model).is_dir() else _registry(model).training_of(model)


def evaluation_run(
    model: str, collection: Path, settings: Mapping[str, Any]
) -> AbstractContextManager[Recorder | None]:
    """Open the run of a measurement on a collection; without the workflow there is none."""
    if not REGISTRY:
        return nullcontext()
    return REGISTRY[-1]().evaluation_run("evaluation", model, collection, settings)


def experiment_run(
    experiment: str, label: str, data: Path, parameters: Mapping[str, Any]
) -> AbstractContextManager[RowRecorder | None]:
    """Open the run of a row of a comparison; without the workflow there is none."""
    if not REGISTRY:
        return nullcontext()
    return REGISTRY[-1]().experiment_run(experiment, label, data, parameters)


def _registry(model: str) -> Registry:
    if not REGISTRY:
        from ssi_core.types import BadInput

        raise BadInput(
            f"{model}: there is no such directory. Runs and registered models belong to the "
            f"workflow. {WORKFLOW}"
        )
    return REGISTRY[-1]()
