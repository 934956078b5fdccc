"""Make Prefect's database file ready for its server: private, and not the rest of a killed start.

Prefect's server makes and migrates its file in place. Some migrations commit in their middle, and a
server that is killed while it makes the file may leave one that no server opens any more. Such a
file holds nothing yet, so it is removed, and the server makes a new one.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from flows import environment
from flows.servers.database_lock import refuse_while_open
from flows.storage import sqlite

logger = logging.getLogger(__name__)

_ADDRESSES = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")
_IN_A_NEW_ONE = {"alembic_version", "block_type", "block_schema", "block_schema_reference"}
"""Tables in which a new database has rows."""


def make_ready() -> None:
    """Remove the database of this root if it was never whole, and close it to other users.

    Settings of runs can hold what others should not see. Call it while no server of this root runs.
    """
    if any(os.environ.get(name) for name in _ADDRESSES):
        return
    home = Path(os.environ.get("PREFECT_HOME") or environment.home() / "prefect")
    database = home / "prefect.db"
    if _holds_nothing(database):
        refuse_while_open(database, "it holds nothing and is made anew")
        logger.warning("%s holds nothing; Prefect makes it anew", database)
        sqlite.remove(database)
    sqlite.make_private(database)


def _holds_nothing(database: Path) -> bool:
    tables = sqlite.tables(database)
    if not tables:
        return False
    with sqlite.reading(database) as connection:
        rows = (connection.execute(f'SELECT 1 FROM "{table}"') for table in tables - _IN_A_NEW_ONE)
        return all(of_a_table.fetchone() is None for of_a_table in rows)
