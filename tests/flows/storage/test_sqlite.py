"""Files of SQLite: what is damaged is told apart from what is busy."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from flows.storage import sqlite
from ssi_core.types import BadInput


def test_a_damaged_database_names_a_remedy(tmp_path):
    (tmp_path / "mlflow.db").write_bytes(b"no database" * 100)
    with (
        pytest.raises(BadInput, match="Restore a backup"),
        sqlite.reading(tmp_path / "mlflow.db") as connection,
    ):
        connection.execute("SELECT name FROM sqlite_master").fetchall()


def test_a_database_that_another_one_writes_is_not_said_to_be_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "PATIENCE", 0)
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("CREATE TABLE runs (id)")
        writer.execute("BEGIN EXCLUSIVE")
        with (
            pytest.raises(sqlite3.OperationalError, match="locked"),
            sqlite.reading(path) as connection,
        ):
            connection.execute("SELECT id FROM runs").fetchall()
