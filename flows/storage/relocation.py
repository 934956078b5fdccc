"""Rewrite the paths that a root knows of itself, when it lies elsewhere by now.

MLflow keeps absolute paths of artifacts, and so do our tags and some manifests.
``mlruns/root.json`` notes under which path they were written. A process that finds another one
there rewrites them before it does anything else, while no other process uses the root. Each step
can be repeated, and the note comes last, so that a kill in between does no harm. Prefect is told
the directory of its deployments anew (`flows.servers.deployments`).
"""

from __future__ import annotations

import json
import logging
import os
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from flows import environment
from flows.servers.database_lock import alone, refuse_while_open

logger = logging.getLogger(__name__)

_NOTE, _MANIFEST = "root.json", "artefact.json"
"""Note beside the database, and file below a root that can hold a path: of frozen sets, mates."""


def rewritten(text: str, old: str, new: str) -> str:
    """Rewrite a path, or every path inside JSON, where it lies below a directory that was moved."""
    in_json = text[:1] in ("{", "[")
    after = _in_json(new) if in_json else new
    # What is below the new directory is rewritten, where that is below the old one.
    below = new.removeprefix(old)
    done = f"(?!(?:{_either(below)}){_END})" if below.startswith("/") and below != new else ""
    for before in {old, _in_json(old)} if in_json else {old}:
        pattern = f'(?:^|(?<=")|(?<=file://)){re.escape(before)}{done}{_END}'
        text = re.sub(pattern, after.replace("\\", r"\\"), text)
    return text


def _either(path: str) -> str:
    return "|".join({re.escape(path), re.escape(_in_json(path))})


_END = r'(?=[/"\\]|$)'
"""What follows a path, in JSON inside of JSON too."""


def _in_json(path: str) -> str:
    return json.dumps(path)[1:-1]


def database(root: Path | None = None) -> Path:
    """Return the place of MLflow's database in a root that has its own."""
    return (root or environment.root()) / "mlruns" / "mlflow.db"


def settle() -> None:
    """Rewrite the paths of the root if it was moved; `Refused` while other processes use it."""
    root = environment.root()
    if old := _old(root):
        with alone(database(), _reason(old)):
            refuse_while_open(database(), _reason(old))
            _rewrite(old, root, environment.home())


def settle_unpacked(root: Path, home: Path) -> None:
    """Rewrite the paths of what will be the root, and which no other process uses yet."""
    if old := _old(root):
        _rewrite(old, root, home)


def _reason(old: str) -> str:
    return f"this root was moved here from {old}"


def _rewrite(old: str, root: Path, home: Path) -> None:
    new = str(environment.root())
    logger.warning("%s; its paths are rewritten", _reason(old))
    _rewrite_manifests(old, new, (root, home))
    _rewrite_database(old, new, database(root))
    note(root)


def note(root: Path | None = None) -> None:
    """Note under which path the root is written."""
    from ssi_core import store

    store.write_json(database(root).with_name(_NOTE), {"root": str(environment.root())})


def noted(root: Path | None = None) -> str | None:
    """Return the path under which the root was written; None where that is not noted."""
    try:
        value = json.loads(database(root).with_name(_NOTE).read_text("utf-8"))["root"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return value if isinstance(value, str) else None


def _old(root: Path) -> str | None:
    """Return the path under which a root was written; None if that is the root's."""
    old = noted(root)
    if old is None or not database(root).exists():
        return None
    with suppress(OSError):
        if Path(old).samefile(environment.root()):
            return None
    return old


def _rewrite_manifests(old: str, new: str, bases: Iterable[Path]) -> None:
    from ssi_core import integrity

    for base in bases:
        for directory, below, files in os.walk(base):
            below[:] = [name for name in below if not name.startswith(".") and name != "mlruns"]
            if _MANIFEST not in files:
                continue
            # The reader of a damaged file has the clear message.
            with suppress(OSError, ValueError):
                text = json.dumps(integrity.read_manifest(Path(directory), _MANIFEST, ""))
                if (changed := rewritten(text, old, new)) != text:
                    integrity.write_manifest(Path(directory), _MANIFEST, json.loads(changed))


def _rewrite_database(old: str, new: str, file: Path) -> None:
    """Rewrite paths in MLflow's database, all or none."""
    with closing(sqlite3.connect(file, timeout=20)) as connection, connection:
        connection.create_function("rewritten", 1, lambda text: rewritten(text, old, new))
        connection.execute("BEGIN IMMEDIATE")
        columns = connection.execute(
            "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c "
            "WHERE t.type = 'table'"
        ).fetchall()
        for table, column in columns:
            connection.execute(
                f'UPDATE "{table}" SET "{column}" = rewritten("{column}") '
                f"WHERE typeof(\"{column}\") = 'text' "
                f'AND (instr("{column}", ?) OR instr("{column}", ?))',
                (old, _in_json(old)),
            )
