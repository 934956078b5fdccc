"""Directories of registered models, remembered for as long as MLflow's database stays as it is.

To ask MLflow where a model is takes seconds: its packages have to be loaded first. What it answered
holds until somebody writes to its database, which changes a counter in the file's header, or the
log that is written ahead of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flows import environment
from flows.storage import relocation
from ssi_core import cache

_HEADER = 100
"""Bytes of the header of a SQLite file, with the counter of its changes."""


def searchable_directory(model: str) -> Path:
    """Return the directory of a model that has an index; see `tracking.searchable_directory`."""
    return _remembered(model, "index", lambda: _tracking().searchable_directory(model))


def model_directory(model: str) -> Path:
    """Return the directory of a model; see `tracking.model_directory`."""
    return _remembered(model, "", lambda: _tracking().model_directory(model))


def __getattr__(name: str) -> Any:
    """Return any other name of `flows.tracking`."""
    return getattr(_tracking(), name)


def _tracking() -> Any:
    from flows import tracking

    return tracking


def _remembered(model: str, beside: str, find: Callable[[], Path]) -> Path:
    state = _state()
    if state is None:
        return find()
    name = f"{environment.root()}\n{model}\n{beside}"
    known, _, path = (cache.recall("models", name) or "").partition("\n")
    if known == state and (Path(path).parent / beside).is_dir():
        return Path(path)
    found = find()
    if _state() == state:
        cache.remember("models", name, f"{state}\n{found}")
    return found


def _state() -> str | None:
    """Return what every write to the database changes; None where it is no file of the root."""
    if os.environ.get("MLFLOW_TRACKING_URI"):
        return None
    database = relocation.database()
    ahead = database.with_name(f"{database.name}-wal")
    try:
        with database.open("rb") as file:
            header = file.read(_HEADER).hex()
        log = ahead.stat() if ahead.exists() else None
    except OSError:
        return None
    return f"{header} {log.st_mtime_ns} {log.st_size}" if log and log.st_size else header
