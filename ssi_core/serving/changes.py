"""Documents that were added and removed, in a file: SQLite, a change is whole or it is not there.

It knows no model, so that the same documents are read through the next one too.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from ssi_core import files, private
from ssi_core.serving.live import Document
from ssi_core.types import BadInput, Refused

_VERSION = 2
_TABLE = (
    "CREATE TABLE documents (id TEXT PRIMARY KEY, title TEXT, text TEXT, url TEXT) WITHOUT ROWID"
)


class Changes:
    """Documents that were added and removed; safe to use from several threads.

    Parameters
    ----------
    path : Path
        File, made where there is none; its directory too.

    Raises
    ------
    BadInput
        The file is no such file, or one of a later version.
    Refused
        It cannot be written: a full disk, a missing permission.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()
        with files.writing(path.parent):
            private.directory(path.parent)
            path.touch(private.FILE)
        with self._connection() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                connection.execute(_TABLE)
                connection.execute(f"PRAGMA user_version = {_VERSION}")
            elif version != _VERSION:
                raise BadInput(
                    f"{path}: documents of version {version}, this version of ssi reads version "
                    f"{_VERSION}. Name another file."
                )

    def put(self, documents: Sequence[Document]) -> None:
        """Keep documents; each takes the place of one of its id."""
        rows = [(one.id, one.title, one.text, one.url) for one in documents]
        with self._connection() as connection:
            connection.executemany("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)", rows)

    def drop(self, ids: Collection[str]) -> None:
        """Keep that documents went."""
        with self._connection() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO documents VALUES (?, NULL, NULL, NULL)",
                [(id,) for id in ids],
            )

    def added(self) -> list[Document]:
        """Return the documents that were added and not removed, by ascending id."""
        query = "SELECT id, title, text, url FROM documents WHERE text IS NOT NULL ORDER BY id"
        with self._connection() as connection:
            return [Document(*row) for row in connection.execute(query)]

    def gone(self) -> list[str]:
        """Return the ids that were removed, ascending."""
        query = "SELECT id FROM documents WHERE text IS NULL ORDER BY id"
        with self._connection() as connection:
            return [row[0] for row in connection.execute(query)]

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # A connection a change: nothing to close at the end, and it is whole however that comes.
        with files.writing(self.path.parent), self._turn:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with closing(sqlite3.connect(self.path)) as connection, connection:
                    yield connection
            except sqlite3.OperationalError as error:
                raise Refused(
                    f"{self.path}: {error}. Make room there, give this user the right to it, or "
                    "name another file."
                ) from error
            except sqlite3.DatabaseError as error:
                raise BadInput(
                    f"{self.path}: no file of documents ({error}). Remove it, or name another."
                ) from error
