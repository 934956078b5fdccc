"""Directories of the models that a verb names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from ssi_core.command.verb import WORKFLOW


class Registry(Protocol):
    """Finds the models of runs and of registered names."""

    def model_directory(self, model: str) -> Path:
        """Return the directory of a model."""
        ...

    def searchable_directory(self, model: str) -> Path:
        """Return the directory of a model that has an index; a run that has none gets it now."""
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


def _registry(model: str) -> Registry:
    if not REGISTRY:
        from ssi_core.types import BadInput

        raise BadInput(
            f"{model}: there is no such directory. Runs and registered models belong to the "
            f"workflow. {WORKFLOW}"
        )
    return REGISTRY[-1]()
