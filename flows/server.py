"""A Prefect server in the background of one command.

The temporary server that Prefect starts by itself loses task records when it ends. This one is a
real ``prefect server start`` with its database under ``PREFECT_HOME``, so that ``ssi ui`` shows
the runs later. It takes about ten seconds to start, during which other work can be done; it listens
on 127.0.0.1 alone, asks for the secret of the root (`flows.access`), and ends with the last command
that uses it, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from typing import IO

from flows import access, environment, prefect_database
from flows.access import HOST, Running
from flows.kept import GRACE, start_kept
from flows.processes import is_over, name_of
from ssi_core import locks


class Server:
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

    def __init__(self, port: int | None = None, *, patience: float = 180.0) -> None:
        self._port, self._patience = port, patience
        self._inside = contextlib.ExitStack()
        self._users: IO[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._server: Running | None = None
        self._is_ready = False
        self._home = environment.home() / "prefect"
        self.log = self._home / "server.log"
        self.url = ""

    def __enter__(self) -> Server:
        environment.prepare()
        self.url = chosen_url()
        if not self.url or access.running(self.url):
            # Waits while the last user's server ends.
            with contextlib.ExitStack() as inside:
                self._users = inside.enter_context(locks.shared(self._home / "server.users"))
                self._join()
                self._inside = inside.pop_all()
        return self

    def _join(self) -> None:
        """Find the server of another command, or start one."""
        with locks.turn(self._home / "server.start"):
            self._server = access.running(self.url) or self._start()
            self.url = self._server.url

    def _start(self) -> Running:
        prefect_database.make_ready()
        port = self._port or free_port()
        check_port(self.name, port)
        url = f"http://{HOST}:{port}/api"
        self._process = start_kept(
            server_command(port),
            self._home / "server.users",
            self.log,
            {"PREFECT_API_URL": url, **access.of_server(port)},
        )
        server = Running(url, name_of(self._process.pid), kept=True)
        access.remember(server)
        return server

    def ready(self) -> str:
        """Wait until the server answers, make it Prefect's server, and return its address.

        Raises
        ------
        RuntimeError
            It ended, or did not answer in time; the message has the end of its log.
        """
        if self._server is not None and not self._is_ready:
            self.wait()
            from prefect import settings

            from flows.prefect_runs import named_runs

            values = access.of_client(self.url)
            changed = {getattr(settings, name): value for name, value in values.items()}
            self._inside.enter_context(environment.override(values))
            self._inside.enter_context(settings.temporary_settings(changed))
            self._inside.enter_context(named_runs())
            self._is_ready = True
        return self.url

    @property
    def address(self) -> str:
        """Return the address that a person opens."""
        return f"{self.url.removesuffix('/api')}/dashboard"

    @property
    def is_own(self) -> bool:
        """Say whether the server is this root's, which asks for its secret; not the user's."""
        return self._server is not None

    def is_over(self) -> bool:
        """Say whether the server, unless it is the user's, has ended."""
        return self._server is not None and is_over(self._server.keeper)

    def wait(self) -> None:
        """Wait until the server answers; see `ready` for its errors."""
        if self._server is None:
            return
        import httpx

        user, password = access.secret().split(":")
        end = time.monotonic() + self._patience
        while time.monotonic() < end and not self.is_over():
            with contextlib.suppress(httpx.HTTPError):
                answer = httpx.get(
                    f"{self.url}/health", auth=(user, password), timeout=2, trust_env=False
                )
                if answer.status_code == 200:
                    return
            time.sleep(0.1)
        lines = self.log.read_text(errors="replace")[-500:] if self.log.exists() else ""
        raise RuntimeError(f"the Prefect server did not start; {self.log} ends with:\n{lines}")

    def __exit__(self, *raised: object) -> None:
        if self._users is None:
            return
        try:
            if self._is_ready and not self.is_over():
                from flows.prefect_runs import settle

                settle()
        finally:
            alone = locks.take(self._users)
            self._inside.close()
            end = time.monotonic() + 2 * GRACE
            ends = alone and self._server is not None and self._server.kept
            while ends and not self.is_over() and time.monotonic() < end:
                time.sleep(0.05)
            if self._process is not None:
                self._process.poll()


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
