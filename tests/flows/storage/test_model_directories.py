"""Directories of registered models, remembered while MLflow's database stays as it is."""

import sqlite3
from types import SimpleNamespace

import pytest

from flows import environment
from flows.storage import model_directories, relocation


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return the names that MLflow was asked for; its database is one of a root of its own."""
    monkeypatch.setattr(environment, "root", lambda: tmp_path)
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "mlruns").mkdir()
    (tmp_path / "found" / "index").mkdir(parents=True)
    write("create table names (name text)")
    names = []

    def find(model):
        names.append(model)
        return tmp_path / "found" / "model"

    found = SimpleNamespace(searchable_directory=find, model_directory=find, folds=3)
    monkeypatch.setattr(model_directories, "_tracking", lambda: found)
    return names


def write(statement, *, mode="delete"):
    """Write, and keep the database open if there is a log ahead, which closing would put away."""
    database = sqlite3.connect(relocation.database())
    with database:
        database.execute(f"pragma journal_mode = {mode}")
        database.execute(statement)
    if mode != "wal":
        database.close()
    return database


def test_a_place_is_asked_for_once_while_the_database_stays_as_it_is(asked):
    first, second = (
        model_directories.searchable_directory("models:/ssi@champion") for _ in range(2)
    )

    assert first == second == environment.root() / "found" / "model"
    assert asked == ["models:/ssi@champion"]
    model_directories.searchable_directory("models:/ssi@other")
    assert asked == ["models:/ssi@champion", "models:/ssi@other"]


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_after_a_write_to_the_database_it_is_asked_for_again(asked, mode):
    held = write("insert into names values ('before')", mode=mode)
    model_directories.searchable_directory("models:/ssi@champion")
    later = write("insert into names values ('ssi')", mode=mode)
    model_directories.searchable_directory("models:/ssi@champion")
    held.close()
    later.close()

    assert len(asked) == 2


def test_a_place_that_is_gone_is_asked_for_again(asked):
    model_directories.searchable_directory("models:/ssi@champion")
    (environment.root() / "found" / "index").rmdir()
    model_directories.searchable_directory("models:/ssi@champion")

    assert len(asked) == 2


def test_of_another_database_nothing_is_remembered(asked, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://host/name")
    for _ in range(2):
        model_directories.model_directory("models:/ssi@champion")

    assert len(asked) == 2


def test_other_names_are_those_of_the_registry(asked):
    assert model_directories.folds == 3
