"""Check every sealed directory and database below some places, also what was checked before."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ssi_core import integrity
from ssi_core.files import refusal
from ssi_core.types import BadInput, Progress

MANIFESTS = ("artefact.json", "model.json", "progress.json")
"""Of artefacts, of models, of checkpoints."""

Checks = Mapping[str, Callable[[Path], object]]
"""Name of a database file -> what reads it, and raises `BadInput` where it is damaged."""

_DATABASE = ".db"
_PATIENCE = 60.0
"""Seconds to wait for a process that writes to a database."""
_UNFINISHED = (".partial", ".work", ".old", ".new")


@dataclass(frozen=True)
class Verified:
    """A directory or a database, its bytes, and what is wrong with it; None: nothing is."""

    path: Path
    size: int
    problem: str | None
    database: bool = False


def sealed_directories(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """List the directories that have a manifest, each with the name of the manifest."""
    for path in paths:
        for directory, inner, names in os.walk(path):
            inner[:] = sorted(name for name in inner if not name.endswith(_UNFINISHED))
            yield from ((Path(directory), name) for name in MANIFESTS if name in names)


def databases(paths: Iterable[Path]) -> Iterator[Path]:
    """List the databases of SQLite, by the ends of their names."""
    for path in paths:
        for directory, inner, names in os.walk(path):
            inner.sort()
            yield from (Path(directory, name) for name in sorted(names) if _is_database(name))


def _is_database(name: str) -> bool:
    return name.endswith(_DATABASE) and not name.startswith(".")


def verify(
    paths: Iterable[Path], progress: Progress | None = None, checks: Checks | None = None
) -> list[Verified]:
    """Read every sealed directory and database, and compare it with what was written.

    Files of directories are compared with their digests, and databases are checked by SQLite
    (``PRAGMA integrity_check``), which does not know what was written.

    Parameters
    ----------
    paths : iterable of Path
        Directories to look in, such as a store.
    progress : callable or None
        Called for each directory and database.
    checks : mapping, optional
        Further checks of databases, by the names of their files.

    Returns
    -------
    list of Verified
        directories, then databases, each in the order of their paths
    """
    paths = list(paths)
    sealed, files = list(sealed_directories(paths)), list(databases(paths))
    results: list[Verified] = []
    for directory, manifest in sealed:
        if progress is not None:
            progress(len(results) / (len(sealed) + len(files)), str(directory))
        results.append(_verified(directory, manifest))
    for path in files:
        if progress is not None:
            progress(len(results) / (len(sealed) + len(files)), str(path))
        problem = _problem_of(path, (checks or {}).get(path.name))
        results.append(Verified(path, path.stat().st_size, problem, database=True))
    return results


def _problem_of(path: Path, check: Callable[[Path], object] | None) -> str | None:
    """Return what is wrong with a database; what a check of its own says comes first."""
    try:
        if check is not None:
            check(path)
        with closing(sqlite3.connect(path, timeout=_PATIENCE)) as connection:
            [answer] = next(connection.execute("PRAGMA integrity_check(1)"))
    except BadInput as error:
        return str(error)
    except sqlite3.Error as error:
        # What cannot be read for want of room is not damaged.
        if (refused := refusal(error, path)) is not None:
            raise refused from error
        answer = str(error)
    if answer == "ok":
        return None
    return (
        f"{path}: {' '.join(answer.split())}. Restore a backup (ssi ops restore), or move the file "
        "away: a new one is made."
    )


def _verified(directory: Path, manifest: str) -> Verified:
    size = 0
    try:
        facts = integrity.read_manifest(directory, manifest, "Remove it and make it again.")
        size = sum(size for size, _ in facts["files"].values())
        integrity.check_directory(
            directory, manifest, facts["files"], f"Remove {directory}, make it again.", anew=True
        )
    except BadInput as error:
        return Verified(directory, size, str(error))
    return Verified(directory, size, None)
