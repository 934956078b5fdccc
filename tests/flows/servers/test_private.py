"""Databases, logs and secrets, and the directories of a root: their user alone can read them."""

import os

import pytest

from flows import environment, tracking
from flows.servers import access, migration
from flows.storage import sqlite
from ssi_core.guests.live.changes import Changes

pytestmark = pytest.mark.hostile("folders")


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.fixture(autouse=True)
def _shared_by_default(own_root):
    """Make files readable by all unless a mode is set."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_root_and_its_secret():
    access.secret()
    access.remember(access.Running("http://127.0.0.1:4200/api", "none", kept=False))
    path = environment.home() / "prefect"
    assert (mode(path / "secret"), mode(path)) == (0o600, 0o700)


def test_the_home_of_a_root(monkeypatch):
    before = dict(os.environ)
    environment.prepare()
    os.environ.clear()
    os.environ.update(before)
    assert mode(environment.home()) == 0o700


@pytest.mark.parametrize("is_readable", [False, True])
def test_the_database_of_mlflow(is_readable):
    database = environment.root() / "mlruns" / "mlflow.db"
    if is_readable:
        migration.prepare(database)
        database.chmod(0o644)
    tracking.ready()
    assert (mode(database), mode(database.parent)) == (0o600, 0o700)


def test_a_migrated_database(tmp_path):
    with sqlite.in_place_of(tmp_path / "new" / "one.db") as new:
        assert mode(new) == 0o600
    assert (mode(tmp_path / "new" / "one.db"), mode(tmp_path / "new")) == (0o600, 0o700)
    (tmp_path / "new" / "one.db").chmod(0o644)
    sqlite.copy(tmp_path / "new" / "one.db", tmp_path / "copy.db")
    assert mode(tmp_path / "copy.db") == 0o600


def test_documents_that_were_added(tmp_path):
    Changes(tmp_path / "serve" / "documents.db")
    file = tmp_path / "serve" / "documents.db"
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
