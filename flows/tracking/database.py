"""Database of MLflow's runs: opened once; search for runs."""

from __future__ import annotations

import logging
import os
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.entities import Experiment, Run, ViewType
from mlflow.exceptions import MlflowException

from flows import environment
from flows.servers import migration
from flows.servers.addresses import shown, trouble
from flows.servers.database_lock import hold
from flows.storage import relocation, sqlite
from ssi_core import locks, private, store
from ssi_core.errors import chain_of
from ssi_core.strict import instead
from ssi_core.types import BadInput, Refused

logger = logging.getLogger(__name__)

_VARIABLE = "MLFLOW_TRACKING_URI"

_PATIENCE = 30.0
"""Seconds that a server, or a database, may be away: it may be starting again."""


def tracking_uri() -> str:
    """Address of MLflow's store: ``MLFLOW_TRACKING_URI``, else a database under the root.

    The address of a database file that is not absolute is taken from the root, so that a command
    started elsewhere does not open a second one.
    """
    uri = os.environ.get(_VARIABLE) or "sqlite:///mlruns/mlflow.db"
    if uri.startswith(("/", ".", "file:")):
        raise BadInput(
            f"MLFLOW_TRACKING_URI={uri}: MLflow no longer keeps runs in folders. Use "
            "sqlite:///mlruns/mlflow.db, or the http:// address of a server."
        )
    if uri.startswith(sqlite.PREFIX) and not uri.startswith(sqlite.PREFIX + "/"):
        return sqlite.PREFIX + str(environment.root() / uri.removeprefix(sqlite.PREFIX))
    return uri


def ready() -> None:
    """Create the database, if there is none; processes may call this side by side."""
    client()


def client() -> MlflowClient:
    """Open the store, and make it the one that MLflow's own functions use in this process."""
    uri = tracking_uri()
    opened = _open(uri)
    if mlflow.get_tracking_uri() != uri:
        address = os.environ.get(_VARIABLE)
        mlflow.set_tracking_uri(uri)
        # MLflow writes the address into the environment, where it would outlive a change of root.
        del os.environ[_VARIABLE]
        if address is not None:
            os.environ[_VARIABLE] = address
    return opened


@cache
def _open(uri: str) -> MlflowClient:
    _wait_for(uri)
    file = sqlite.file_of(uri)
    if file is not None and file.exists() and not os.access(file.parent, os.W_OK):
        return _opened_to_read(uri, file)
    # It shows the traceback of what it raises, which we say in a line.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    with locked(), quiet(), undamaged(uri):
        if file is not None:
            _hold(file)
        opened = MlflowClient(uri)
        opened.search_experiments(max_results=1)
    return opened


def _opened_to_read(uri: str, file: Path) -> MlflowClient:
    """Open a database whose directory cannot be written, such as that of a snapshot."""
    if reason := migration.trouble(file):
        raise Refused(f"{file}: {reason}, and its directory can only be read. Copy the root first.")
    with quiet(), undamaged(uri):
        opened = MlflowClient(uri)
        opened.search_experiments(max_results=1)
    return opened


@contextmanager
def undamaged(uri: str) -> Iterator[None]:
    """Turn what is raised of a damaged database file into `BadInput`."""
    try:
        yield
    except (BadInput, Refused):
        raise
    except Exception as error:
        file = sqlite.file_of(uri)
        if file is None or not _DAMAGE.search(" ".join(map(str, chain_of(error)))):
            raise
        raise sqlite.damaged(file, error) from error


_DAMAGE = re.compile("malformed|not a database|no such (?:table|column)|codec can't decode")


def _hold(file: Path) -> None:
    """Hold a database file for the life of this process, made, migrated and at home in its root."""
    in_root = file == relocation.database()
    if in_root:
        relocation.settle()

    def prepare() -> None:
        if in_root and not (file.exists() and relocation.noted()):
            relocation.note()
        migration.prepare(file)
        sqlite.make_private(file)

    hold(file, prepare, lambda: migration.trouble(file))


def _wait_for(uri: str) -> None:
    # MLflow itself would try for minutes, and say nothing.
    why = trouble(uri)
    if why:
        logger.warning("waiting for MLflow at %s: %s", shown(uri), why)
    end = time.monotonic() + _PATIENCE
    while why:
        if time.monotonic() > end:
            raise Refused(
                f"MLflow does not answer at {shown(uri)}: {why}. Start it (docs/deployment.md), "
                "or name another in MLFLOW_TRACKING_URI."
            )
        time.sleep(0.5)
        why = trouble(uri)


@contextmanager
def locked() -> Iterator[None]:
    """Keep other processes of this root out until the body is done; waits for its turn."""
    # Two processes that write the first rows of a database at once break it.
    private.directory(environment.root() / "mlruns")
    with locks.turn(environment.root() / "mlruns" / ".lock"):
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Keep MLflow's logs and warnings out of ours while the body runs."""
    # It tells of every migration, and asks for type hints that would break ``predict``.
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        # Kept in a list, and not only ignored: MLflow sets filters of its own.
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def written_alone(comparison: str) -> Iterator[None]:
    """Keep a second run off a comparison; `Refused` names the process that writes it."""
    path = environment.home() / "comparisons" / comparison
    with store.locked(path, f"comparison {comparison}"):
        yield


def experiment_id(name: str) -> str:
    """Return the id of an experiment, which is created when it is not there."""
    return str(experiment_of(name).experiment_id)


def experiment_of(name: str) -> Experiment:
    """Return an experiment, which is created when it is not there."""
    experiment = client().get_experiment_by_name(name)
    if experiment is None:
        with locked():
            experiment = client().get_experiment_by_name(name)
            if experiment is None:
                return client().get_experiment(_create_experiment(name))
    if experiment.lifecycle_stage == "deleted":
        raise BadInput(
            f"experiment {name!r} is in MLflow's bin; restore it, or remove it for good."
        )
    return experiment


def _create_experiment(name: str) -> str:
    served = tracking_uri().startswith("http")
    path = None if served else environment.root() / "mlruns" / "artifacts" / name
    try:
        return str(client().create_experiment(name, path and str(path)))
    except MlflowException as error:
        # A process of another root, which our lock does not hold, was first.
        experiment = client().get_experiment_by_name(name)
        if error.error_code != "RESOURCE_ALREADY_EXISTS" or experiment is None:
            raise
        return str(experiment.experiment_id)


def known_experiment(name: str) -> str:
    """Return the id of an experiment; `BadInput` names those that there are."""
    with undamaged(tracking_uri()):
        experiment = client().get_experiment_by_name(name)
    if experiment is None:
        known = sorted(e.name for e in client().search_experiments() if e.name != "Default")
        where = f"{shown(tracking_uri())}: no experiment {instead(name, known)}"
        raise BadInput(where if known else f"{where} 'ssi lab pipeline' makes some.")
    return str(experiment.experiment_id)


def row_runs(experiment: str, comparison: str, status: str) -> list[Run]:
    """Return the row runs of a comparison that have a status, the newest first."""
    return search(
        experiment,
        f'tags.kind = "row" and tags.comparison_id = "{comparison}" '
        f'and attributes.status = "{status}"',
    )


def search(experiment: str, where: str, limit: int = 0) -> list[Run]:
    """Return the runs of an experiment id that fulfil a filter, the newest first; 0: all."""
    runs: list[Run] = []
    token: str | None = None
    while True:
        with undamaged(tracking_uri()):
            page = client().search_runs(
                [experiment],
                where,
                ViewType.ACTIVE_ONLY,
                limit or 1000,
                ["attributes.start_time DESC"],
                token,
            )
        runs += page
        token = page.token
        if limit or not token:
            return runs


def plain(name: str) -> str:
    """Replace the characters that MLflow does not take in the name of a metric."""
    return "".join(c if c.isalnum() or c in "_-. /:" else "_" for c in name)
