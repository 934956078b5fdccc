"""Files of SQLite: read, copied while others write, and put in place whole."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ssi_core import private

PATIENCE = 60.0
"""Seconds to wait for a process that writes."""

PREFIX = "sqlite:///"
_SIDE_FILES = ("-wal", "-shm", "-journal")


def file_of(address: str) -> Path | None:
    """Return the file of a database by its address; None where it is not a file of SQLite.

    >>> str(file_of("sqlite:////data/mlruns/mlflow.db"))
    '/data/mlruns/mlflow.db'
    """
    path = address.removeprefix(PREFIX).partition("?")[0]
    if not address.startswith(PREFIX) or path in ("", ":memory:"):
        return None
    return Path(path)


@contextmanager
def reading(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database file to read it.

    Raises
    ------
    BadInput
        The file is no database, or is damaged.
    """
    try:
        with closing(sqlite3.connect(database, timeout=PATIENCE)) as connection:
            yield connection
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise damaged(database, error) from error


def damaged(database: Path, error: Exception) -> Exception:
    """Return what to say of a damaged file."""
    # Not above: it loads numpy, which row workers load later.
    from ssi_core.types import BadInput

    reason = " ".join(str(getattr(error, "message", error)).split())[:300]
    return BadInput(
        f"{database}: {reason}. Restore a backup (ssi ops restore), or move the file away: a new "
        "one is made."
    )


def tables(database: Path) -> set[str]:
    """Return the names of the tables in a file; none where it is not there."""
    if not database.exists():
        return set()
    with reading(database) as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {str(name) for (name,) in rows}


def revision_of(database: Path) -> str | None:
    """Return the version of the tables in a file, as Alembic notes it; None where it does not."""
    if "alembic_version" not in tables(database):
        return None
    with reading(database) as connection:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else None


def copy(source: Path, target: Path) -> None:
    """Copy a database as it is at one moment, also while other processes write to it.

    The copy is private from its first moment.
    """
    remove(target)
    target.touch(private.FILE)
    with reading(source) as origin, closing(sqlite3.connect(target)) as connection:
        origin.backup(connection)
    flush(target)


@contextmanager
def in_place_of(database: Path) -> Iterator[Path]:
    """Give a new file to the body, and put it in the place of a database when that succeeds.

    Its user alone can read it.
    """
    private.directory(database.parent)
    new = database.with_name(f".{database.name}.new")
    remove(new)
    try:
        new.touch(private.FILE)
        yield new
        flush(new)
        # What a killed process left in a journal would be played into the new file.
        for suffix in _SIDE_FILES:
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        new.replace(database)
        flush(database.parent)
    finally:
        remove(new)


def remove(database: Path) -> None:
    """Remove a database file, and what SQLite keeps beside it."""
    for suffix in (*_SIDE_FILES, ""):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def make_private(database: Path) -> None:
    """Let its user alone read a database and the files beside it; make it if it is not there.

    SQLite gives the mode of a database to the files that it makes beside it later.
    """
    private.directory(database.parent)
    database.touch(private.FILE)
    for suffix in ("", *_SIDE_FILES):
        with suppress(FileNotFoundError):
            database.with_name(database.name + suffix).chmod(private.FILE)


def flush(path: Path) -> None:
    """Write what the system holds of a file, or of the names in a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
