"""A Prefect server in the background of one command.

The temporary server that Prefect starts by itself loses task records when it ends. This one is a
real ``prefect server start`` with its database under ``PREFECT_HOME``, so that ``ssi ops ui`` shows
the runs later. It takes about ten seconds to start, during which other work can be done; it listens
on 127.0.0.1 alone, asks for the secret of the root (`flows.servers.access`), and ends with the last
command that uses it, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Self

from flows import environment
from flows.servers import access, login, prefect_database
from flows.servers.access import HOST, Running
from flows.servers.processes import is_over, name_of
from flows.servers.supervisor import GRACE, Kept, answers_at
from ssi_core import locks


class Server(Kept):
    """A Prefect server for the length of a ``with`` block; nothing if the user has one.

    Commands of one root share a server, as two would share its database: the first starts it, and
    it ends with the last, however that ends.

    ``with Server() as server: ...; server.ready(); flow()``: other work goes before ``ready``.

    Parameters
    ----------
    port : int or None
        To listen on, if a server is to be started; None: any that is free.
    patience : float
        Seconds that it may take to answer.
    """

    name = "Prefect"

    def __init__(self, port: int | None = None, *, patience: float = Kept.patience) -> None:
        self._port, self.patience = port, patience
        self._server: Running | None = None
        self._is_started = self._is_ready = False
        self.log = environment.home() / "prefect" / "server.log"
        self.url = ""

    def __enter__(self) -> Self:
        environment.prepare()
        self.url = chosen_url()
        # To hold it waits while the last user's server ends.
        return super().__enter__() if not self.url or access.running(self.url) else self

    def begin(self) -> None:
        """Find the server of another command, or start one."""
        with locks.turn(self.log.with_suffix(".start")):
            self._server = access.running(self.url) or self._started()
        self.url = self._server.url
        self.address = f"{self.url.removesuffix('/api')}/dashboard"

    def _started(self) -> Running:
        prefect_database.make_ready()
        port = self._port or free_port()
        check_port(self.name, port)
        url = f"http://{HOST}:{port}/api"
        settings = {"PREFECT_API_URL": url, **access.of_server(port), **login.settings()}
        self.start(server_command(port), settings)
        self._is_started = True
        server = Running(url, name_of(self.process.pid), kept=True)
        access.remember(server)
        return server

    def ready(self) -> str:
        """Wait until the server answers, make it Prefect's server, and return its address."""
        if self._server is not None and not self._is_ready:
            self.wait()
            from flows.servers.prefect_runs import named_runs

            self.inside.enter_context(called(self.url))
            self.inside.enter_context(named_runs())
            self._is_ready = True
        return self.url

    @property
    def is_own(self) -> bool:
        """Say whether the server is this root's, which asks for its secret; not the user's."""
        return self._server is not None

    def is_over(self) -> bool:
        """Say whether the server, unless it is the user's, has ended."""
        return self._server is not None and is_over(self._server.keeper)

    def answers(self) -> bool:
        """Say whether the server answers who knows its secret."""
        return answers_at(f"{self.url}/health", access.secret())

    def __exit__(self, *raised: object) -> None:
        if self._server is None:
            return
        try:
            if self._is_ready and not self.is_over():
                from flows.servers.prefect_runs import settle

                settle()
        finally:
            ends = locks.take(self.users) and self._server.kept
            self.inside.close()
            end = time.monotonic() + 2 * GRACE
            while ends and not self.is_over() and time.monotonic() < end:
                time.sleep(0.05)
            if self._is_started:
                self.process.poll()
        if raised and isinstance(raised[1], Exception):
            self._refuse_where_full(raised[1])

    def _refuse_where_full(self, error: Exception) -> None:
        """Raise `Refused` where the disk is full, of which an answer (500) says nothing."""
        from ssi_core import files
        from ssi_core.errors import chain_of

        answers = (getattr(seen, "response", None) for seen in chain_of(error))
        if any(answer is not None and answer.status_code >= 500 for answer in answers):
            path = self.log.parent
            with files.writing(path), tempfile.TemporaryFile(dir=path) as probe:
                probe.write(bytes(1 << 16))
                probe.flush()


@contextlib.contextmanager
def called(url: str) -> Iterator[None]:
    """Make a server of this root Prefect's for the length of a block."""
    from prefect import settings

    values = access.of_client(url)
    changed = {getattr(settings, name): value for name, value in values.items()}
    with environment.override(values), settings.temporary_settings(changed):
        yield


def chosen_url() -> str:
    """Return the address of the server that the user, or a test, has chosen; '' if none."""
    if "prefect" in sys.modules:
        from prefect.settings import PREFECT_API_URL

        return PREFECT_API_URL.value() or ""
    return os.environ.get("PREFECT_API_URL", "")


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def check_port(name: str, port: int, option: str = "") -> None:
    """Raise `Refused` where somebody listens on the port that a server is to have."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            from ssi_core.types import Refused

            raise Refused(
                f"port {port} is taken, so {name} cannot use it. "
                f"Name another: {option or f'--{name.lower()}-port'} PORT."
            ) from None


def server_command(port: int) -> list[str]:
    """Return the command that starts a server on 127.0.0.1."""
    start = ["-m", "prefect", "server", "start", "--host", HOST, "--port", str(port)]
    return [sys.executable, *start]
