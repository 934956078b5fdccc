"""The server of MLflow, and what is done with servers that people look at."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence

from flows import environment
from flows.servers import database_lock
from flows.servers.access import HOST
from flows.servers.server import check_port
from flows.servers.supervisor import Kept, answers_at
from flows.storage import sqlite


class MlflowServer(Kept):
    """MLflow's server for the length of a ``with`` block, on this machine alone.

    Parameters
    ----------
    tracking : str
        Address of the database, such as ``sqlite:////root/mlruns/mlflow.db``.
    port : int
        To listen on.
    page : str
        Address of the page that a person is told, from the root of the server.
    """

    name = "MLflow"

    def __init__(self, tracking: str, port: int, page: str = "/") -> None:
        self._tracking, self._port = tracking, port
        self._url = f"http://{HOST}:{port}"
        self.address = f"{self._url}{page}"
        self.log = environment.home() / "logs" / f"mlflow-{port}.log"

    def begin(self) -> None:
        """Start the server, which holds a database that is a file."""
        check_port(self.name, self._port)
        command = [
            *(sys.executable, "-m", "mlflow", "server", "--host", HOST),
            *("--port", str(self._port), "--workers", "1"),
            *("--artifacts-destination", str(environment.root() / "mlruns" / "artifacts")),
        ]
        if (database := sqlite.file_of(self._tracking)) is not None:
            command = database_lock.command(database, command)
        # Not in the command, which everybody on the machine can read: it may have a password.
        self.start(command, {"MLFLOW_BACKEND_STORE_URI": self._tracking})

    def answers(self) -> bool:
        """Tell whether the server answers."""
        return answers_at(f"{self._url}/health")


def watch(servers: Sequence[Kept]) -> None:
    """Wait for Ctrl-C, unless there is no server.

    Raises
    ------
    RuntimeError
        A server ended by itself; the message names its log.
    """
    with contextlib.suppress(KeyboardInterrupt):
        while servers:
            for server in servers:
                if server.is_over():
                    raise RuntimeError(f"{server.name} ended by itself; see {server.log}")
            time.sleep(0.5)
