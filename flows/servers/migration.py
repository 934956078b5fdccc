"""Make MLflow's database file, and bring that of an earlier MLflow up to date, safe from a kill.

MLflow creates and changes its tables in place, one statement after the other; a process that is
killed meanwhile leaves a file that no later command opens. Here the work is done on another file,
which takes the place of the database when it is whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from flows.servers.database_lock import refuse_while_open
from flows.storage import sqlite
from ssi_core import files
from ssi_core.types import BadInput

logger = logging.getLogger(__name__)


def trouble(database: Path) -> str:
    """Say why MLflow cannot use a database file as it is; '' if it can."""
    revision = sqlite.revision_of(database)
    if revision == newest():
        return ""
    return f"its tables are not those of this MLflow ({revision}, wanted {newest()})"


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
    if not sqlite.tables(database):
        with sqlite.in_place_of(database) as new:
            make(new)
    elif (revision := sqlite.revision_of(database)) != newest():
        _migrate(database, revision)


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


def _migrate(database: Path, revision: str | None) -> None:
    """Migrate a copy of a database, and put it in its place."""
    refuse_while_open(database, "another version of MLflow must change its tables")
    logger.warning("%s: its tables are brought up to date for this version of MLflow", database)
    with sqlite.in_place_of(database) as new:
        sqlite.copy(database, new)
        try:
            _with_engine(new, _utils()._upgrade_db)
        except Exception as error:
            if files.refusal(error, database.parent):
                raise
            raise BadInput(
                f"{database}: its tables, of version {revision}, cannot be brought up to date for "
                f"this MLflow: {str(error).splitlines()[0]}. A newer MLflow wrote them, or a "
                "process was killed while it changed them in place. The file is left as it was. "
                "Install the newer MLflow again, restore a backup (ssi ops restore), or move the "
                "file away: a new one is made, and the files under mlruns/artifacts stay."
            ) from error


def _with_engine(database: Path, work: Callable[[Any], None]) -> None:
    from sqlalchemy import create_engine
    from sqlalchemy.engine import URL
    from sqlalchemy.pool import NullPool

    engine = create_engine(URL.create("sqlite", database=str(database)), poolclass=NullPool)
    try:
        work(engine)
    finally:
        engine.dispose()
