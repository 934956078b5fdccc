"""Make MLflow's database file, and bring that of an earlier MLflow up to date, safe from a kill.

MLflow creates and changes its tables in place, one statement after the other; a process that is
killed meanwhile leaves a file that no later command opens. Here the work is done on another file,
which takes the place of the database when it is whole.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows import sqlite
from flows.holding import refuse_while_open
from ssi_core.types import BadInput, Refused

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

logger = logging.getLogger(__name__)

_FROM_THE_START = {"alembic_version", "experiments", "workspaces"}
"""Tables in which a new database has rows."""

_HALF_DONE = ("already exists", "duplicate column", "no such table", "no such column")


def trouble(database: Path) -> str:
    """Say why MLflow cannot use a database file as it is; '' if it can."""
    revision = sqlite.revision_of(database)
    if revision == newest():
        return ""
    if revision is None:
        return "MLflow's tables are not made yet"
    return f"its tables are of another version of MLflow ({revision}, wanted {newest()})"


def prepare(database: Path) -> None:
    """Make a database file, or migrate it, so that the installed MLflow can use it.

    Call it only while no other process holds the file (`holding.hold`).

    Raises
    ------
    BadInput
        The file is damaged or half migrated, or a newer MLflow wrote it.
    Refused
        A process that does not know our lock uses the file.
    """
    revision = sqlite.revision_of(database)
    if revision == newest():
        return
    if database.exists() and not _is_unused(database):
        _migrate(database, revision)
        return
    if sqlite.tables(database):
        refuse_while_open(database, "it must be made anew")
        logger.warning("%s holds nothing but unfinished tables; it is made anew", database)
    with sqlite.in_place_of(database) as new:
        make(new)


def make(database: Path) -> None:
    """Write the tables of the installed MLflow into a new file; it takes seconds."""
    _with_engine(database, _utils()._initialize_tables)


@cache
def newest() -> str:
    """Return the version of the tables that the installed MLflow uses."""
    return str(_utils()._get_latest_schema_revision())


def _utils() -> Any:
    import mlflow.store.db.utils

    return mlflow.store.db.utils


def _is_unused(database: Path) -> bool:
    """Say whether a file has no more rows than a database that was just made."""
    named = sqlite.has_rows(database, "experiments", "name != 'Default'")
    return not named and sqlite.is_empty(database, _FROM_THE_START)


def _migrate(database: Path, revision: str | None) -> None:
    """Migrate a copy of a database, and put it in its place."""
    if revision is not None and not _is_known(revision):
        raise BadInput(
            f"{database}: its tables are of a newer MLflow (version {revision}) than the one that "
            "is installed. Install the newer one again, or restore a backup (ssi restore)."
        )
    reason = "a new version of MLflow must change its tables"
    refuse_while_open(database, reason)
    logger.warning("%s: its tables are brought up to date for this version of MLflow", database)
    with (
        closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as guard,
        sqlite.in_place_of(database) as new,
    ):
        try:
            # Nobody writes until the copy is in its place.
            guard.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise Refused(
                f"{database}: {reason}, and another process writes to it ({error}). End every "
                "command and server of this root, and run this again."
            ) from error
        sqlite.copy(database, new)
        try:
            _with_engine(new, _utils()._upgrade_db)
        except Exception as error:
            if not any(words in str(error) for words in _HALF_DONE):
                raise
            raise BadInput(_half_migrated(database, revision, error)) from error


def _half_migrated(database: Path, revision: str | None, error: Exception) -> str:
    first = str(error).splitlines()[0]
    return (
        f"{database}: its tables are half migrated, after version {revision}: {first}. A process "
        "was killed while it changed them in place. The file is left as it was. Restore a backup "
        "(ssi restore), or move the file away: a new one is made, and the files under "
        "mlruns/artifacts stay."
    )


def _is_known(revision: str) -> bool:
    from alembic.util import CommandError

    with suppress(CommandError):
        return _scripts().get_revision(revision) is not None
    return False


def _scripts() -> ScriptDirectory:
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_utils()._get_alembic_config(""))


def _with_engine(database: Path, work: Callable[[Any], None]) -> None:
    from sqlalchemy import create_engine
    from sqlalchemy.engine import URL
    from sqlalchemy.pool import NullPool

    engine = create_engine(URL.create("sqlite", database=str(database)), poolclass=NullPool)
    try:
        work(engine)
    finally:
        engine.dispose()
