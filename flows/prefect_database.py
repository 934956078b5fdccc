"""Repair Prefect's database file after a kill during its migration, before a server starts.

Prefect's server makes and migrates its file in place, one transaction a migration; but some
migrations commit in their middle, and a kill there leaves a file that no server opens any more. So
a file that was never whole is removed, and the server makes a new one. One of an earlier version of
Prefect is copied first; if it is still unfinished the next time, the copy takes its place, and the
server begins again.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
from pathlib import Path

from flows import environment, sqlite
from flows.holding import refuse_while_open

logger = logging.getLogger(__name__)

_ADDRESSES = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")
_MIGRATIONS = "server/database/_migrations/versions/sqlite"
_FROM_THE_START = {"alembic_version", "block_type", "block_schema", "block_schema_reference"}
"""Tables in which a new database has rows."""

_REVISION = re.compile(r"""^(down_)?revision\b[^=\n]*=\s*["'](\w+)["']""", re.MULTILINE)


def make_ready() -> None:
    """Repair the database of this root, if it is a file and its last migration did not end.

    Its user alone can read it: settings of runs can hold what others should not see. Call it while
    no server of this root runs.
    """
    if any(os.environ.get(name) for name in _ADDRESSES):
        return
    home = Path(os.environ.get("PREFECT_HOME") or environment.home() / "prefect")
    database = home / "prefect.db"
    if database.exists():
        sqlite.make_private(database)
    repair(database)
    sqlite.make_private(database)


def repair(database: Path) -> None:
    """Make a database file such that Prefect's server can open or migrate it."""
    copy = database.with_name(f".{database.name}.before")
    known, newest = _revisions()
    revision = sqlite.revision_of(database)
    if revision == newest or (revision is not None and revision not in known):
        # Whole; or of a newer Prefect, which the server says itself.
        copy.unlink(missing_ok=True)
        return
    if not database.exists() or not database.stat().st_size:
        return
    refuse_while_open(database, "its tables are to be changed")
    if sqlite.is_empty(database, _FROM_THE_START):
        logger.warning("%s was never whole; Prefect makes it anew", database)
        sqlite.remove(database)
    elif copy.exists():
        logger.warning("%s is half migrated; it is migrated again from its copy", database)
        with sqlite.in_place_of(database) as new:
            sqlite.copy(copy, new)
    else:
        logger.warning("%s is migrated by this version of Prefect", database)
        with sqlite.in_place_of(copy) as new:
            sqlite.copy(database, new)


def _revisions() -> tuple[set[str], str]:
    """Return the versions of the tables that the installed Prefect knows, and the newest."""
    # Read as text: to import them takes seconds.
    spec = importlib.util.find_spec("prefect")
    places = spec.submodule_search_locations if spec else None
    known: set[str] = set()
    before: set[str] = set()
    for file in Path(next(iter(places or ()), "."), _MIGRATIONS).glob("*.py"):
        for is_before, revision in _REVISION.findall(file.read_text(encoding="utf-8")):
            (before if is_before else known).add(revision)
    return known, next(iter(known - before), "")
