"""Rewrite the paths that a root knows of itself, when it lies elsewhere by now.

MLflow keeps absolute paths of artifacts, and so do our tags and some manifests.
``mlruns/root.json`` notes under which path they were written. A command that finds another one
there rewrites them before it does anything else, while no other process uses the root. Each step
can be repeated, and the note comes last, so that a kill in between does no harm. Prefect is told
the directory of its deployments anew (`flows.deployments`).
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows import environment
from flows.holding import alone, refuse_while_open

logger = logging.getLogger(__name__)

_MLFLOW: Mapping[str, Sequence[str]] = {
    "experiments": ["artifact_location"],
    "experiment_tags": ["value"],
    "runs": ["artifact_uri"],
    "tags": ["value"],
    "params": ["value"],
    "datasets": ["dataset_source"],
    "logged_models": ["artifact_location"],
    "logged_model_tags": ["tag_value"],
    "logged_model_params": ["param_value"],
    "registered_model_tags": ["value"],
    "model_versions": ["source", "storage_location"],
    "model_version_tags": ["value"],
    "trace_tags": ["value"],
    "workspaces": ["default_artifact_root"],
}
"""Tables and columns that can hold a path, as it is or inside JSON."""

_MANIFESTS = ("artefact.json",)
"""Files below a root that can hold a path: of frozen sets."""


@dataclass(frozen=True)
class Move:
    """A directory that has another path by now.

    Attributes
    ----------
    old, new : str
        The paths.
    """

    old: str
    new: str

    def of(self, value: Any) -> Any:
        """Rewrite a path, or every path inside a JSON value; leave all else as it is."""
        if isinstance(value, str):
            return self._of_text(value)
        if isinstance(value, list):
            return [self.of(item) for item in value]
        if isinstance(value, dict):
            return {key: self.of(item) for key, item in value.items()}
        return value

    def _of_text(self, text: str) -> str:
        if text[:1] in ("{", "["):
            with suppress(ValueError):
                value = json.loads(text)
                return text if self.of(value) == value else json.dumps(self.of(value))
        scheme = "file://" if text.startswith("file://") else ""
        path = text.removeprefix(scheme)
        is_rewritten = _is_in(self.new, self.old) and _is_in(path, self.new)
        if not _is_in(path, self.old) or is_rewritten:
            return text
        return scheme + self.new + path.removeprefix(self.old)


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def database() -> Path:
    """Return the place of MLflow's database in a root that has its own."""
    return environment.root() / "mlruns" / "mlflow.db"


def settle() -> None:
    """Rewrite the paths of the root if it was moved; `Refused` while other processes use it."""
    if reason := trouble():
        with alone(database(), reason):
            prepare()


def trouble() -> str:
    """Say that the root was moved since its paths were written; '' if it was not."""
    move = _move()
    return f"this root was moved here from {move.old}" if move else ""


def prepare() -> None:
    """Rewrite the paths of the root if it was moved, and note where it is.

    Call it only while no other process holds the database (`holding.alone`).
    """
    move = _move()
    if move is not None:
        refuse_while_open(database(), f"this root was moved here from {move.old}")
        rewrite(move)
    if move is not None or _noted() is None or not database().exists():
        note(environment.root())


def rewrite(move: Move) -> None:
    """Rewrite every path of the root that lies below a directory that was moved."""
    logger.warning("this root was moved from %s to %s; its paths are rewritten", move.old, move.new)
    for file in _manifests():
        _rewrite_file(file, move)
    _rewrite_database(database(), move)


def note(root: Path) -> None:
    """Note under which path the root was written."""
    from ssi_core import store

    store.write_json(_note(), {"root": str(root)})


def _note() -> Path:
    return database().with_name("root.json")


def _noted() -> str | None:
    try:
        value = json.loads(_note().read_text(encoding="utf-8"))["root"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return value if isinstance(value, str) else None


def _move() -> Move | None:
    if not database().exists():
        return None
    root, old = str(environment.root()), _noted() or _inferred()
    if old is None or old == root:
        return None
    with suppress(OSError):
        if Path(old).samefile(root):
            return None
    return Move(old, root)


def _inferred() -> str | None:
    """Return the path that a root of an earlier version was written under, if it is gone."""
    try:
        with closing(sqlite3.connect(database(), timeout=20)) as connection:
            rows = connection.execute("SELECT name, artifact_location FROM experiments").fetchall()
    except sqlite3.Error:
        return None
    roots = set()
    for name, place in rows:
        suffix = f"/mlruns/artifacts/{name}"
        if name != "Default" and str(place).endswith(suffix):
            roots.add(str(place).removeprefix("file://").removesuffix(suffix))
    gone = [root for root in roots if not Path(root, "mlruns").exists()]
    return gone[0] if len(roots) == len(gone) == 1 else None


def _manifests() -> Iterator[Path]:
    for base in (environment.root(), environment.home()):
        for directory, below, files in os.walk(base):
            below[:] = [name for name in below if not name.startswith(".") and name != "mlruns"]
            yield from (Path(directory, name) for name in _MANIFESTS if name in files)


def _rewrite_file(file: Path, move: Move) -> None:
    from ssi_core import integrity

    with suppress(OSError, ValueError):  # the reader of a damaged file has the clear message
        facts = integrity.read_manifest(file.parent, file.name, "")
        if move.of(facts) != facts:
            integrity.write_manifest(file.parent, file.name, move.of(facts))


def _rewrite_database(file: Path, move: Move) -> None:
    """Rewrite paths in columns of a database of MLflow, all or none."""
    if not file.exists():
        return
    with closing(sqlite3.connect(file, timeout=20)) as connection, connection:
        connection.execute("BEGIN IMMEDIATE")
        for table, columns in _MLFLOW.items():
            present = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            for column in present.intersection(columns):
                _rewrite_column(connection, table, column, move)


def _rewrite_column(connection: sqlite3.Connection, table: str, column: str, move: Move) -> None:
    wanted = f"SELECT rowid, {column} FROM {table} WHERE instr({column}, ?) OR instr({column}, ?)"
    # The second is how JSON writes a path that is not ASCII.
    rows = connection.execute(wanted, (move.old, json.dumps(move.old)[1:-1])).fetchall()
    changed = [(move.of(value), row) for row, value in rows if move.of(value) != value]
    connection.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", changed)
