"""Databases of a root whose first command, or whose migration, was killed."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import psutil
import pytest

from flows import environment, tracking
from flows.servers import database_lock, migration, prefect_database, server, supervisor, ui
from flows.tracking import registry
from ssi_core import locks
from ssi_core.types import BadInput, Refused

KILLED = """
import os, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from flows import tracking

calls = 0

@event.listens_for(Engine, "before_cursor_execute")
def count(*arguments):
    global calls
    calls += 1
    if calls == int(sys.argv[1]):
        os._exit(9)

tracking.ready()
"""
MODEL = "INSERT INTO registered_models (name, workspace) VALUES ('kept', 'default')"


@pytest.fixture
def root(own_root, tmp_path, monkeypatch):
    """A root of the test's own, with a store of MLflow's in no cache."""
    for name, value in environment.variables().items():
        monkeypatch.setenv(name, value)
    (tmp_path / "root" / "mlruns").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture(scope="module")
def new_database(tmp_path_factory):
    """A database of the newest version in which nothing was written."""
    database = tmp_path_factory.mktemp("new") / "mlflow.db"
    with tracking.database.quiet():
        migration.make(database)
    return database


@pytest.fixture
def filled(root, new_database):
    """That root with a database of the newest version."""
    return shutil.copy(new_database, root / "mlruns" / "mlflow.db")


def change(database, *statements):
    with closing(sqlite3.connect(database)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def begin(code, *arguments, **options):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env={**os.environ}, text=True, **options)


@pytest.mark.slow
def test_processes_that_create_the_database_side_by_side_make_one(root):
    makers = [begin("from flows import tracking; tracking.ready()") for _ in range(2)]
    assert [maker.wait(180) for maker in makers] == [0, 0]
    database = root / "mlruns" / "mlflow.db"
    assert list(database.parent.glob("*.db")) == [database]
    with closing(sqlite3.connect(database)) as connection:
        named = connection.execute("SELECT name FROM experiments").fetchall()
    assert named == [("Default",)]


@pytest.mark.slow
def test_a_kill_while_the_database_is_made_leaves_a_root_that_works(root):
    assert begin(KILLED, "400").wait(180) == 9
    assert not (root / "mlruns" / "mlflow.db").exists()

    assert registry.champion() is None

    assert not list((root / "mlruns").glob("*.new*"))


@pytest.fixture(scope="module")
def before():
    """Version of MLflow's tables before the newest."""
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(migration._utils()._get_alembic_config(""))
    return scripts.get_revision(migration.newest()).down_revision


@pytest.fixture(scope="module")
def earlier_store(tmp_path_factory, before):
    """A database of an earlier MLflow, with a registered model."""
    from alembic import command

    utils = migration._utils()
    database = tmp_path_factory.mktemp("earlier") / "mlflow.db"

    def make(engine):
        utils.InitialBase.metadata.create_all(engine)
        config = utils._get_alembic_config(str(engine.url))
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, before)

    with tracking.database.quiet():
        migration._with_engine(database, make)
    change(database, MODEL)
    return database


@pytest.fixture
def earlier(root, earlier_store):
    """That database in the root of one test."""
    return shutil.copy(earlier_store, root / "mlruns" / "mlflow.db")


def test_a_half_migrated_database_is_named_and_left_alone(filled, before):
    change(filled, MODEL, f"UPDATE alembic_version SET version_num = '{before}'")
    content = filled.read_bytes()

    with pytest.raises(
        BadInput, match=rf"mlflow\.db: its tables, of version {before}.*ssi ops restore"
    ):
        tracking.ready()

    assert filled.read_bytes() == content
    assert not list(filled.parent.glob("*.new*"))


def test_a_database_of_a_newer_mlflow_is_named(filled):
    change(filled, MODEL, "UPDATE alembic_version SET version_num = 'fffffffffff1'")

    with pytest.raises(BadInput, match="newer MLflow"):
        tracking.ready()


def test_no_database_at_all_is_named(root):
    (root / "mlruns" / "mlflow.db").write_bytes(b"no database " * 1000)

    with pytest.raises(BadInput, match=r"mlflow\.db: file is not a database\. Restore"):
        tracking.ready()


def test_a_database_of_an_earlier_mlflow_is_migrated(earlier):
    tracking.ready()

    assert [model.name for model in tracking.client().search_registered_models()] == ["kept"]


@pytest.mark.slow
def test_a_kill_in_a_migration_leaves_the_database_as_it_was(earlier):
    content = earlier.read_bytes()
    assert begin(KILLED, "8").wait(180) == 9
    assert earlier.read_bytes() == content

    tracking.ready()

    assert [model.name for model in tracking.client().search_registered_models()] == ["kept"]
    assert not list(earlier.parent.glob(".mlflow.db.new*"))


def test_no_database_is_migrated_while_a_process_holds_it(earlier):
    with (
        locks.shared(database_lock.users_of(earlier)),
        pytest.raises(Refused, match="another process uses it"),
    ):
        tracking.ready()

    tracking.ready()


def test_no_database_is_migrated_while_a_foreign_process_has_it_open(earlier):
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('select 1'); input()"
    with begin(code, str(earlier), stdin=subprocess.PIPE) as foreign:
        wait_until_open(foreign.pid, earlier)
        with pytest.raises(Refused, match=rf"process {foreign.pid} .* uses it"):
            tracking.ready()
        foreign.communicate("\n")


def wait_until_open(pid, file):
    process = psutil.Process(pid)
    while all(opened.path != str(file) for opened in process.open_files()):
        assert process.is_running()


def test_a_command_that_holds_the_database_holds_it_until_it_ends(filled):
    code = "print('there', flush=True); input()"
    words = database_lock.command(filled, [sys.executable, "-c", code])
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "there\n"
        with pytest.raises(Refused, match="it moves"), database_lock.alone(filled, "it moves"):
            pass
        process.communicate("\n")

    with database_lock.alone(filled, "it moves"):
        pass


def test_the_server_of_mlflow_holds_its_database(filled, monkeypatch):
    begun = []

    class Ended:
        def wait(self):
            return 0

    def start(command, *_):
        begun.append(command)
        return Ended()

    monkeypatch.setattr(supervisor, "start_kept", start)
    port = server.free_port()
    for address in (f"sqlite:///{filled}", "postgresql://one@127.0.0.1/mlflow"):
        with ui.MlflowServer(address, port):
            pass

    held, plain = begun
    assert held == database_lock.command(filled, plain)


# Prefect: its real tables take seconds to make, and these need few of them.


@pytest.fixture
def prefect(root):
    """A database of Prefect whose making was killed."""
    database = root / ".ssi" / "prefect" / "prefect.db"
    database.parent.mkdir(parents=True)
    change(
        database,
        "CREATE TABLE alembic_version (version_num)",
        "INSERT INTO alembic_version VALUES ('one')",
        "CREATE TABLE flow_run (id)",
    )
    return database


def test_a_database_of_prefect_that_was_never_whole_is_made_anew(prefect):
    prefect_database.make_ready()

    assert not prefect.stat().st_size


def test_a_database_of_prefect_with_a_run_is_left_alone(prefect):
    change(prefect, "INSERT INTO flow_run VALUES ('first')")
    content = prefect.read_bytes()

    prefect_database.make_ready()

    assert prefect.read_bytes() == content
    assert [file.name for file in prefect.parent.iterdir()] == ["prefect.db"]


def mode(file):
    return stat.S_IMODE(file.stat().st_mode)


def test_the_user_alone_can_read_prefects_database(root):
    """Also what SQLite makes beside it."""
    database = root / ".ssi" / "prefect" / "prefect.db"
    prefect_database.make_ready()
    assert mode(database) == 0o600
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE flow_run (id)")
        connection.commit()
        files = list(database.parent.iterdir())
        assert {file.name for file in files} == {f"prefect.db{s}" for s in ("", "-wal", "-shm")}
        assert {mode(file) for file in files} == {0o600}


def test_a_readable_database_of_prefect_is_made_private(prefect):
    change(prefect, "INSERT INTO flow_run VALUES ('first')")
    prefect.chmod(0o644)
    prefect_database.make_ready()
    assert mode(prefect) == 0o600


def test_a_server_makes_its_database_ready(prefect, monkeypatch):
    class Started(Exception):
        pass

    def start(*arguments):
        assert not prefect.stat().st_size
        raise Started

    monkeypatch.setattr(supervisor, "start_kept", start)
    with pytest.raises(Started):
        server.Server().__enter__()
