"""Base of the tasks of all flows: keys, failures that are worth a retry, progress."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import Task
from prefect.artifacts import (
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.client.schemas.objects import State, TaskRun

from flows import environment
from flows.training.board import post, take_off
from ssi_core.garbage import economise
from ssi_core.store import Artefact, key_of
from ssi_core.types import BadInput, Progress, Refused

_SECONDS_BETWEEN_UPDATES = 2.0


def begin() -> None:
    """Begin a flow: the settings, and what our rooms say in the log of its run."""
    environment.prepare()
    economise()
    for name in ("ssi_core", "flows"):
        # Prefect listens to these loggers, but leaves them at the level of warnings.
        if logging.getLogger(name).level == logging.NOTSET:
            logging.getLogger(name).setLevel(logging.INFO)


def worth_retrying(task: Task[Any, Any], run: TaskRun, state: State[Any]) -> bool:
    """Say whether another attempt can help: a wrong value stays wrong, refused work too large."""
    error = state.result(raise_on_failure=False)
    return not isinstance(error, Refused | ValueError)


def path_in_root(path: Path) -> str:
    """Name a file by its path in the root, so that a root that is moved keeps its keys.

    What lies outside of the root is named by its whole path.
    """
    resolved, root = path.resolve(), environment.root()
    return str(resolved.relative_to(root) if resolved.is_relative_to(root) else resolved)


def file_key(path: Path) -> str:
    """Key of a raw input: where it is, its size and its time; `BadInput` if it is not there."""
    files = sorted(f for f in path.rglob("*") if f.is_file()) if path.is_dir() else [path]
    try:
        states = [[path_in_root(f), f.stat().st_size, f.stat().st_mtime_ns] for f in files]
    except FileNotFoundError:
        raise BadInput(f"{path} is not there; check the path.") from None
    return key_of("file", {"files": states}, {})


def progress(what: str) -> Progress:
    """Show the progress of the running task on its page, at most every two seconds.

    A terminal that looks on is told each time.
    """
    artifact = create_progress_artifact(progress=0.0, description=what)
    assert isinstance(artifact, UUID)
    last = time.monotonic()

    def on_progress(fraction: float, message: str) -> None:
        nonlocal last
        post(what, fraction, message)
        if fraction >= 1:
            take_off(what)
        now = time.monotonic()
        if fraction >= 1 or now - last >= _SECONDS_BETWEEN_UPDATES:
            last = now
            update_progress_artifact(
                artifact, progress=100 * min(fraction, 1.0), description=f"{what}: {message}"
            )

    return on_progress


def show_counts(artefact: Artefact) -> None:
    """Put the counts of an artefact, and what was left out, on the page of the running task."""
    rows = [
        {"what": name, "number": number, "of": of}
        for of, counts in (("kept", artefact.counts), ("left out", artefact.skipped))
        for name, number in counts.items()
    ]
    create_table_artifact(rows, key=f"{artefact.kind}-counts", description=str(artefact.path))
