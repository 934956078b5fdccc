"""The pages of MLflow and Prefect, started together and ended together, on this machine alone."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Protocol

from flows import environment, holding, sqlite
from flows.access import HOST
from flows.kept import start_kept
from flows.server import check_port
from ssi_core import locks


class Page(Protocol):
    """A server that people look at."""

    name: str

    @property
    def address(self) -> str:
        """Return the address that a person opens."""
        ...

    @property
    def log(self) -> Path:
        """Return the file that it writes its log to."""
        ...

    def wait(self) -> None:
        """Wait until it answers; RuntimeError if it does not."""
        ...

    def is_over(self) -> bool:
        """Say whether it has ended by itself."""
        ...


class MlflowServer:
    """MLflow's server for the length of a ``with`` block.

    Parameters
    ----------
    tracking : str
        Address of the database, such as ``sqlite:////root/mlruns/mlflow.db``.
    port : int
        To listen on.
    page : str
        Address of the page that a person is told, from the root of the server.
    patience : float
        Seconds that it may take to answer.
    """

    name = "MLflow"

    def __init__(
        self, tracking: str, port: int, page: str = "/", *, patience: float = 180.0
    ) -> None:
        self._tracking, self._port, self._patience = tracking, port, patience
        self._process: subprocess.Popen[bytes] | None = None
        self._inside = contextlib.ExitStack()
        self._url = f"http://{HOST}:{port}"
        self.address = f"{self._url}{page}"
        self.log = environment.home() / "logs" / "mlflow.log"

    def __enter__(self) -> MlflowServer:
        check_port(self.name, self._port)
        users = environment.home() / "logs" / f"mlflow-{self._port}.users"
        self._inside.enter_context(locks.shared(users))
        command = [
            *(sys.executable, "-m", "mlflow", "server", "--host", HOST),
            *("--port", str(self._port), "--workers", "1"),
            *("--artifacts-destination", str(environment.root() / "mlruns" / "artifacts")),
        ]
        if (database := sqlite.file_of(self._tracking)) is not None:
            command = holding.command(database, command)
        # Not in the command, which everybody on the machine can read: it may have a password.
        store = {"MLFLOW_BACKEND_STORE_URI": self._tracking}
        self._process = start_kept(command, users, self.log, store)
        return self

    def __exit__(self, *raised: object) -> None:
        self._inside.close()
        if self._process is not None:
            self._process.wait()

    def wait(self) -> None:
        """Wait until it answers; RuntimeError if it does not."""
        import httpx

        end = time.monotonic() + self._patience
        while time.monotonic() < end and not self.is_over():
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self._url}/health", timeout=2, trust_env=False).is_success:
                    return
            time.sleep(0.3)
        raise RuntimeError(f"MLflow ended, or does not answer; see {self.log}")

    def is_over(self) -> bool:
        """Say whether it has ended by itself."""
        return self._process is not None and self._process.poll() is not None


def serve(pages: Sequence[Page], ready: Callable[[Page], None]) -> None:
    """Tell when each server answers, and wait for Ctrl-C, SIGTERM or an end; see `watch`."""
    with terminated(), contextlib.suppress(KeyboardInterrupt):
        answer(pages, ready)
        watch(pages)


def answer(pages: Sequence[Page], ready: Callable[[Page], None]) -> None:
    """Tell when each server answers; RuntimeError if one does not."""
    for page in pages:
        page.wait()
        ready(page)


def watch(pages: Sequence[Page]) -> None:
    """Wait for Ctrl-C.

    Raises
    ------
    RuntimeError
        A server ended by itself; the message names its log.
    """
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            for page in pages:
                if page.is_over():
                    raise RuntimeError(f"{page.name} ended by itself; see {page.log}")
            time.sleep(0.5)


@contextlib.contextmanager
def terminated() -> Iterator[None]:
    """Take SIGTERM for Ctrl-C."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
