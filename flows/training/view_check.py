"""Views that rows of a table read, against those that a task directory has."""

from __future__ import annotations

import shlex
from pathlib import Path

from ssi_core import store
from ssi_core.command.fields import parameters
from ssi_core.experiment import Row, Table
from ssi_core.tasks.settings import FeaturesSettings
from ssi_core.tasks.spec import TaskSpec
from ssi_core.types import BadInput, Task, requestable


def require_views(table: Table, row: Row, task: Task) -> None:
    """Refuse a row that reads a view which its task lacks.

    Raises
    ------
    BadInput
        The message has the command that makes a task with the views of all rows of the table.
    """
    views_known = set(task.documents.views)
    if not (lacking := sorted(row.ranker().views() - views_known)) or task.path is None:
        return
    views = requestable(views_known | set(table.views(row.task)))
    raise BadInput(
        f"task {task.path}: it has no view {', '.join(lacking)}, which row {row.label!r} reads; it "
        f"has {', '.join(sorted(views_known))}. Make a task of the same texts that has all: "
        f"{command(task.path, views)}"
    )


def command(task: Path, views: list[str]) -> str:
    """Return the command that makes a task as another one was made, with some views.

    A name in capitals stands for a directory or file: the other task has kept their keys alone.
    """
    artefact = store.read(task, "task")
    configuration, parents = artefact.configuration, artefact.parents
    out = f"{task.name}-views"
    given = ["ssi", "data", "features", "COLLECTION", "--views", ",".join(views), "--out", out]
    spec = TaskSpec(
        **{name: configuration[name] for name in TaskSpec.model_fields if name in configuration}
    )
    flags = {one.name: one.opts[0] for one in parameters(FeaturesSettings)}
    for name, value in spec.choices().items():
        if name != "views":
            given += [flags[name], _typed(value)]
    given += ["--translations", "FILE"] if configuration.get("translations") else []
    given += [part for name in parents if name.startswith("frozen_") for part in _FROZEN]
    return shlex.join(given)


def _typed(value: object) -> str:
    """Return a value as it is typed behind its option."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


_FROZEN = ("--frozen", "FROZEN")
