import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from functools import cache

import pytest
from mlflow import MlflowClient
from mlflow.store.db import utils as db_utils
from sqlalchemy import event
from sqlalchemy.engine import Engine

from flows import environment
from flows.cli import cli
from flows.servers.processes import name_of
from flows.tracking import models
from flows.training.workers import Workers
from ssi_core.command.verb import run
from ssi_core.guests.monitoring import trial
from tests.corpora import topical, write_corpus
from tests.flows import direct, postgres
from tests.flows.machine import ROW, TABLE, WORKERS, Machine
from tests.flows.project import make, write_dump

TINY = f"""
name = "tiny"
title = "Three rows on fifty pages"

[tasks.links]
words = "all"

[[rows]]
label = "TF-IDF"
model = "tfidf"
seeds = 1

{ROW}
[[claims]]
above = "U'V + I"
below = "TF-IDF"
measure = "map"
"""


# MLflow reads the scripts of all its migrations whenever it opens a database, to find the last one.
db_utils._get_latest_schema_revision = cache(db_utils._get_latest_schema_revision)


@event.listens_for(Engine, "connect")
def _do_not_wait_for_the_disk(connection, _):
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A dump and its corpus, task, model and report; see `project.make`."""
    return make(tmp_path_factory.mktemp("project"))


@pytest.fixture
def own_root(tmp_path, monkeypatch):
    """A root of the test's own, and no other setting."""
    for name in list(os.environ):
        if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))


@pytest.fixture(autouse=True)
def _trials_here(monkeypatch):
    """Try models in this process; tests/guests/monitoring/test_trial.py uses real processes."""
    monkeypatch.setattr(trial, "subprocess", direct.Trials)


_DRAW = MlflowClient.log_figure


@pytest.fixture(scope="session", autouse=True)
def _pictures_are_blank():
    """Replace pictures by empty files to save half a second each, except under `drawn`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            MlflowClient, "log_figure", lambda client, run, _, path: client.log_text(run, "", path)
        )
        yield


@pytest.fixture
def drawn(monkeypatch):
    """Pictures are drawn."""
    monkeypatch.setattr(MlflowClient, "log_figure", _DRAW)


@pytest.fixture
def ssi(capsys):
    """Call the command; return its code, the object on standard output, and the log."""

    def call(*arguments: object) -> tuple[int, dict, str]:
        code = run(cli, [*map(str, arguments), "--json"])
        out, log = capsys.readouterr()
        assert out.count("\n") == 1
        return code, json.loads(out), log

    return call


@pytest.fixture
def over():
    """Name of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        return name_of(process.pid)


@pytest.fixture(scope="session")
def root(tmp_path_factory):
    """A root of its own for all flow tests."""
    path = tmp_path_factory.mktemp("root")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(path))
        for name, value in environment.variables().items():
            patch.setenv(name, value)
        environment.home().mkdir()
        yield path


@pytest.fixture(scope="session")
def row_worker(root):
    """One worker for all tests: to start one, and to compile in it, takes longer than the rows."""
    workers = Workers(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        workers.__enter__()
    with contextlib.ExitStack() as stack:
        stack.push(workers)
        yield workers


@pytest.fixture(scope="session")
def prefect_server(root, row_worker):
    """An embedded Prefect server."""
    from prefect.settings import PREFECT_HOME, temporary_settings
    from prefect.testing.utilities import prefect_test_harness

    from flows import pipeline, retrain, train

    with (
        pytest.MonkeyPatch.context() as patch,
        temporary_settings({PREFECT_HOME: root / ".ssi" / "prefect"}),
        prefect_test_harness(server_startup_timeout=180),
    ):
        for module in (pipeline, retrain, train):
            patch.setattr(module, "Workers", lambda *sizes: contextlib.nullcontext(row_worker))
        yield root


@pytest.fixture(scope="session")
def little_code(tmp_path_factory):
    """A package of the name of ours, with a file."""
    package = tmp_path_factory.mktemp("code") / "ssi_core"
    package.mkdir()
    (package / "__init__.py").touch()
    return package


@pytest.fixture(scope="module")
def models_of_little_code(little_code):
    """Models are logged with that package: to copy all of ours takes longer than to train."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "CODE", little_code)
        yield


@pytest.fixture(params=["direct", pytest.param("server", marks=pytest.mark.slow)])
def flow_runs(request, monkeypatch, little_code):
    """Flows run as functions in this process; once more, slowly, as runs of a Prefect server."""
    # The server outlives this test, and must not begin with settings that end with it.
    root = request.getfixturevalue("prefect_server") if request.param == "server" else None
    request.getfixturevalue("own_root")
    if root is not None:
        monkeypatch.setenv("SSI_ROOT", str(root))
    for name, value in environment.variables().items():
        monkeypatch.setenv(name, value)
    if request.param == "direct":
        environment.home().mkdir(parents=True)
        direct.install(monkeypatch, little_code)


@pytest.fixture(scope="session")
def dump(tmp_path_factory):
    return write_dump(tmp_path_factory.mktemp("dump") / "tiny.xml.bz2")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def mlflow_store(tmp_path_factory):
    """A root with an MLflow database."""
    from flows import tracking
    from flows.servers import migration

    root = tmp_path_factory.mktemp("mlflow")
    with tracking.database.quiet():
        migration.prepare(root / "mlruns" / "mlflow.db")
    return root


@pytest.fixture
def mlflow_root(mlflow_store, monkeypatch):
    """That root as the root of one test."""
    monkeypatch.setenv("SSI_ROOT", str(mlflow_store))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return mlflow_store


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """Every flow deployed on two workers; both servers on PostgreSQL, where there is one."""
    with contextlib.ExitStack() as stack:
        databases = None if postgres.missing() else stack.enter_context(postgres.running())
        there = Machine(tmp_path_factory.mktemp("machine"), databases)
        stack.callback(there.end)
        there.start("prefect", "mlflow")
        there.answering()
        there.set_up()
        there.start(*WORKERS)
        yield there


@pytest.fixture(scope="session")
def retraining(tmp_path_factory):
    """Settings of a retraining of retraining that takes seconds, by the name of its model."""
    path = tmp_path_factory.mktemp("retraining")
    corpus = write_corpus(path / "corpus", *topical())

    def settings(name):
        table = path / f"{name}.toml"
        table.write_text(TABLE.format(name=name))
        return {"name": name, "table": str(table), "corpus": str(corpus)}

    return settings
