"""Views that rows of a table read, against those that a task directory has."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from ssi_core import store
from ssi_core.experiment import Row, Table
from ssi_core.features.settings import pool_size
from ssi_core.types import BadInput, Task


def require_views(table: Table, row: Row, task: Task) -> None:
    """Refuse a row that reads a view which its task lacks.

    Raises
    ------
    BadInput
        The message has the command that makes a task with the views of all rows of the table.
    """
    there = set(task.documents.views)
    if not (lacking := sorted(row.ranker().views() - there)) or task.path is None:
        return
    views = sorted(there | set(table.views(row.task)))
    raise BadInput(
        f"task {task.path}: it has no view {', '.join(lacking)}, which row {row.label!r} reads; it "
        f"has {', '.join(sorted(there))}. Make a task of the same texts that has all: "
        f"{command(task.path, views)}"
    )


def command(task: Path, views: list[str]) -> str:
    """Return the command that makes a task as another one was made, with some views.

    A name in capitals stands for a directory or file: the other task has kept their keys alone.
    """
    artefact = store.read(task, "task")
    made, parents = artefact.configuration, artefact.parents
    source = next((name for name in ("corpus", "mates", "clicks") if name in parents), "corpus")
    out = f"{task.name}-views"
    given = ["ssi", "features", source.upper(), "--views", ",".join(views), "--out", out]
    defaults = {**_DEFAULTS, "pool": pool_size(None, str(made.get("split")))}
    for name, default in defaults.items():
        value = made.get(name, default)
        if value != default:
            given += _option(name, value)
    given += ["--translated", "FILE"] if made.get("translated") else []
    given += [part for name in parents if name.startswith("frozen_") for part in _FROZEN]
    return shlex.join(given)


_FROZEN = ("--frozen", "FROZEN")


_DEFAULTS: dict[str, Any] = {
    "words": 30_000,
    "split": "links",
    "split_seed": 0,
    "cold": 0.0,
    "query_words": None,
    "query_draws": 20,
    "held_out": "split",
    "relevant": None,
    "vocabularies": "one",
    "goal": False,
}
"""Defaults of `ssi features`; a task of mates is split by articles, which is no option."""


def _option(name: str, value: Any) -> list[str]:
    if (name, value) == ("split", "articles"):
        return []
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return [option]
    return [option, "all" if value is None else str(value)]
