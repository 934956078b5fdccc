"""Documents that were added and removed, in a file: SQLite, a change is whole or it is not there.

It knows no model, so that the same documents are read through the next one too. Each row has a
digest of its key and of all its columns, and the file has the sum of the digests, so that a row
that was changed, lost or doubled by anything but a `Changes` is an error and never another answer.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import xxhash

from ssi_core import files, integrity, private, store
from ssi_core.guests.live.searcher import Document
from ssi_core.types import BadInput, Refused

FILE = "documents.db"
"""Name of the file of a service, unless it is given another."""
_VERSION = 3
_COLUMNS = "id, title, text, url, headings"
_TABLES = """
BEGIN IMMEDIATE;
CREATE TABLE rows (id TEXT PRIMARY KEY, title TEXT, text TEXT, url TEXT, headings TEXT, digest TEXT)
WITHOUT ROWID;
CREATE TABLE total (rows INTEGER, digests TEXT);
INSERT INTO total VALUES (0, '0');
"""
_MODULUS = 1 << 128

_Row: TypeAlias = tuple[str | None, ...]


class DamagedDocuments(BadInput):
    """A file of documents that holds others than were written."""


@dataclass(frozen=True)
class Repaired:
    """Result of `Changes.repair`.

    Attributes
    ----------
    kept, lost : int
        Rows that are as they were written, and those of which nothing was left to read.
    damaged : list of str
        Ids of the rows that were left out, as they can be read.
    before : Path
        The file as it was.
    """

    kept: int
    lost: int
    damaged: list[str]
    before: Path


class Changes:
    """Documents that were added and removed; safe to use from several threads.

    Parameters
    ----------
    path : Path
        File, made where there is none; its directory too.

    Raises
    ------
    BadInput
        The file is no such file, or one of another version.
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
                connection.executescript(_TABLES)
                connection.execute(f"PRAGMA user_version = {_VERSION}")
            elif version != _VERSION:
                raise BadInput(
                    f"{path}: it has documents of version {version}, and this version of ssi reads "
                    f"version {_VERSION}. Name another file."
                )

    def put(self, documents: Sequence[Document]) -> None:
        """Keep documents; each takes the place of one of its id."""
        rows = [(one.id, one.title, one.text, one.url, one.headings) for one in documents]
        with self._connection() as connection:
            self._write(connection, rows)

    def drop(self, ids: Collection[str]) -> None:
        """Keep that documents went."""
        with self._connection() as connection:
            self._write(connection, [(id, None, None, None, None) for id in ids])

    def read(self) -> tuple[list[Document], list[str]]:
        """Return the documents that were added and not removed, and the ids that were removed.

        Both by ascending id.

        Raises
        ------
        DamagedDocuments
            A row was changed after it was written, or rows are missing.
        """
        added, gone = [], []
        with self._connection() as connection:
            rows = _rows(connection)
            damaged = [row for row in rows if _digest(row[:-1]) != row[-1]]
            if damaged:
                raise self._damaged(f"the row {str(damaged[0][0])[:80]!r}", len(damaged) - 1)
            if _total(row[-1] for row in rows) != _written(connection):
                raise self._damaged(f"the number of its rows ({len(rows)})")
        for id, title, text, url, headings, _ in rows:
            if text is None:
                gone.append(str(id))
            else:
                added.append(Document(str(id), str(title), text, url, headings or ""))
        return added, gone

    @classmethod
    def repair(cls, path: Path) -> Repaired:
        """Put a file with the rows that are as they were written in the place of a damaged one.

        Parameters
        ----------
        path : Path
            The damaged file; it is kept beside the new one as ``NAME.damaged``, with a number
            where there is one already.

        Raises
        ------
        BadInput
            Nothing of it can be read.
        """
        rows, written = _readable(path)
        whole = [row[:-1] for row in rows if _digest(row[:-1]) == row[-1]]
        damaged = sorted(str(row[0]) for row in rows if _digest(row[:-1]) != row[-1])
        numbers = ("", *(f"-{n}" for n in range(2, 1000)))
        names = (path.with_name(f"{path.name}.damaged{number}") for number in numbers)
        before = next(name for name in names if not name.exists())
        new = path.with_name(f".{path.name}.new")
        new.unlink(missing_ok=True)
        repaired = cls(new)
        with repaired._connection() as connection:
            repaired._write(connection, whole)
        store.link(path, before)
        new.replace(path)
        for suffix in ("-journal", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        integrity.sync_names(path.parent)
        return Repaired(len(whole), max(0, written - len(rows)), damaged, before)

    def _write(self, connection: sqlite3.Connection, rows: Iterable[_Row]) -> None:
        count, total = _written(connection)
        for row in {row[0]: row for row in rows}.values():
            select = "SELECT digest FROM rows WHERE id = ?"
            for (digest,) in connection.execute(select, row[:1]).fetchall():
                count, total = count - 1, total - _number(digest)
            digest = _digest(row)
            connection.execute("INSERT OR REPLACE INTO rows VALUES (?,?,?,?,?,?)", (*row, digest))
            count, total = count + 1, total + _number(digest)
        new = count, f"{total % _MODULUS:x}"
        connection.execute("UPDATE total SET rows = ?, digests = ?", new)

    def _damaged(self, what: str, more: int = 0) -> DamagedDocuments:
        others = f" and {more} more" if more else ""
        return DamagedDocuments(
            f"{self.path}: {what}{others} was changed after it was written. Stop the service and "
            "restore a backup (ssi ops restore), or leave out what was changed, keep the rest, and "
            f"add the documents again that are then named: ssi data store repair '{self.path}'"
        )

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # A connection a change: nothing to close at the end, and it is whole however that comes.
        with files.writing(self.path.parent), self._turn:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with closing(_connected(self.path)) as connection, connection:
                    yield connection
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if code in _OUTSIDE:
                    raise Refused(
                        f"{self.path}: {error}. Make room there, give this user the right to it, "
                        "or name another file."
                    ) from error
                if code == sqlite3.SQLITE_NOTADB:
                    raise DamagedDocuments(
                        f"{self.path}: no file of documents, or its head was changed ({error}). "
                        "Name another file, or restore a backup (ssi ops restore)."
                    ) from error
                raise self._damaged(f"the file ({error})") from error


_OUTSIDE = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY,
}  # fmt: skip
"""Errors that come of the disk, of permissions and of other processes, and not of the file."""


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    # A blob in the place of a text is no text, and bytes that are no UTF-8 are another one.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return connection


def _rows(connection: sqlite3.Connection) -> list[_Row]:
    return connection.execute(f"SELECT {_COLUMNS}, digest FROM rows ORDER BY id").fetchall()


def _digest(row: Sequence[object]) -> str:
    """Return the digest of a row, which includes the types of its values."""
    text = json.dumps(row, ensure_ascii=True, default=repr)
    return xxhash.xxh3_128_hexdigest(text.encode())


def _total(digests: Iterable[object]) -> tuple[int, int]:
    numbers = list(map(_number, digests))
    return len(numbers), sum(numbers) % _MODULUS


def _written(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the recorded number of rows and the sum of their digests."""
    totals = connection.execute("SELECT rows, digests FROM total").fetchall()
    if len(totals) != 1 or not isinstance(totals[0][0], int):
        raise sqlite3.DatabaseError("the number of its rows cannot be read")
    return totals[0][0], _number(totals[0][1])


def _number(digest: object) -> int:
    try:
        return int(str(digest), 16)
    except ValueError:
        raise sqlite3.DatabaseError("a digest cannot be read") from None


def _readable(path: Path) -> tuple[list[_Row], int]:
    """Return the readable rows, each once, and the recorded number of rows."""
    rows: dict[object, _Row] = {}
    written = 0
    try:
        with closing(_connected(path)) as connection:
            for order in ("ASC", "DESC"):
                # What lies behind a page that cannot be read is come to from the other end.
                try:
                    query = f"SELECT {_COLUMNS}, digest FROM rows ORDER BY id {order}"
                    for row in connection.execute(query):
                        rows.setdefault((row[0], row[-1]), row)
                except sqlite3.DatabaseError:
                    continue
            written = _written(connection)[0]
    except sqlite3.Error:
        pass  # nothing of it can be read, or not how much there was
    if not rows:
        raise BadInput(
            f"{path}: no row of it can be read. Restore a backup (ssi ops restore), or move the "
            f"file away, so that the service starts without added documents: mv '{path}' "
            f"'{path}.damaged'"
        )
    return list(rows.values()), written
