"""A Prefect server in the background of one command.

The temporary server that Prefect starts by itself loses task records when it ends. This one is a
real ``prefect server start`` with its database under ``PREFECT_HOME``, so that ``ssi ui`` shows
the runs later. It takes about ten seconds to start, during which other work can be done; it listens
on 127.0.0.1 alone, and ends with the last command that uses it, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from flows import environment, prefect_database
from flows.processes import is_over, name_of, own_name, shared, taken_alone

logger = logging.getLogger(__name__)


HOST = "127.0.0.1"
"""This machine alone: the servers ask nobody who they are."""


class Server:
    """A Prefect server for the length of a ``with`` block; nothing if the user has one.

    Commands of one root share a server, as two would share its database: the first starts it, and
    it ends with the last, however that ends.

    ``with Server() as server: ...; server.ready(); flow()``: other work goes before ``ready``.

    Parameters
    ----------
    port : to listen on, if a server is to be started; None: any that is free
    patience : seconds that it may take to answer
    """

    name = "Prefect"

    def __init__(self, port: int | None = None, *, patience: float = 180.0) -> None:
        self._port, self._patience = port, patience
        self._inside = contextlib.ExitStack()
        self._users: IO[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper = ""
        self._is_ready = False
        self._home = environment.home() / "prefect"
        self.log = self._home / "server.log"
        self.url = ""

    def __enter__(self) -> Server:
        environment.prepare()
        self.url = chosen_url()
        if not self.url:
            # Waits while the last user's server ends.
            with contextlib.ExitStack() as inside:
                self._users = inside.enter_context(shared(self._home / "server.users"))
                self._join()
                self._inside = inside.pop_all()
        return self

    def _join(self) -> None:
        """Find the server of another command, or start one."""
        said = self._home / "server.json"
        with (self._home / "server.start").open("a") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            with contextlib.suppress(OSError, ValueError, KeyError):
                found = json.loads(said.read_text())
                if not is_over(found["keeper"]):
                    self.url, self._keeper = found["url"], found["keeper"]
                    return
            prefect_database.make_ready()
            port = self._port or free_port()
            check_port(self.name, port)
            self.url = f"http://{HOST}:{port}/api"
            self._process = start_kept(
                server_command(port),
                self._home / "server.users",
                self.log,
                {"PREFECT_API_URL": self.url},
            )
            self._keeper = name_of(self._process.pid)
            said.write_text(json.dumps({"url": self.url, "keeper": self._keeper}))

    def ready(self) -> str:
        """Wait until the server answers, make it Prefect's server, and return its address.

        Raises
        ------
        RuntimeError
            It ended, or did not answer in time; the message has the end of its log.
        """
        if self._keeper and not self._is_ready:
            self.wait()
            from prefect.settings import PREFECT_API_URL, temporary_settings

            os.environ["PREFECT_API_URL"] = self.url
            self._inside.callback(os.environ.pop, "PREFECT_API_URL", None)
            self._inside.enter_context(temporary_settings({PREFECT_API_URL: self.url}))
            self._inside.enter_context(_named_runs())
            self._is_ready = True
        return self.url

    @property
    def address(self) -> str:
        """What a person opens."""
        return f"{self.url.removesuffix('/api')}/dashboard"

    def is_over(self) -> bool:
        """Say whether the server, unless it is the user's, has ended."""
        return bool(self._keeper) and is_over(self._keeper)

    def wait(self) -> None:
        """Wait until the server answers; see `ready` for its errors."""
        import httpx

        end = time.monotonic() + self._patience
        while self._keeper and time.monotonic() < end and not self.is_over():
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/health", timeout=2, trust_env=False).status_code == 200:
                    return
            time.sleep(0.1)
        if self._keeper:
            said = self.log.read_text(errors="replace")[-500:]
            raise RuntimeError(f"the Prefect server did not start; {self.log} ends with:\n{said}")

    def __exit__(self, *raised: object) -> None:
        if self._users is None:
            return
        try:
            if self._is_ready:
                _settle(self.url)
        finally:
            alone = taken_alone(self._users)
            self._inside.close()
            end = time.monotonic() + 2 * _GRACE
            while alone and not self.is_over() and time.monotonic() < end:
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


_PROCESS = "process "


@contextlib.contextmanager
def _named_runs() -> Iterator[None]:
    """Tag the runs of flows with this process, once those that were killed are marked as such."""
    from prefect import tags
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter
    from prefect.client.schemas.objects import State
    from prefect.states import Crashed

    going = {"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}}
    with get_client(sync_client=True) as client:
        for run in client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(going)):
            names = [tag.removeprefix(_PROCESS) for tag in run.tags if tag.startswith(_PROCESS)]
            if any(map(is_over, names)):
                state: State[None] = Crashed(message="its process was killed")
                client.set_flow_run_state(run.id, state, force=True)
    with tags(_PROCESS + own_name()):
        yield


def _settle(url: str, *, patience: float = 20.0) -> None:
    """Wait until the records of tasks, which are on their way for a while, have arrived."""
    import httpx
    from prefect.events.worker import EventsWorker

    EventsWorker.drain_all(timeout=10)
    over = ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]
    asked = {"task_runs": {"state": {"type": {"any_": over}}}}
    counts: list[int] = []
    end = time.monotonic() + patience
    while time.monotonic() < end and (len(counts) < 4 or len(set(counts[-4:])) > 1):
        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.post(f"{url}/task_runs/count", json=asked)
            counts.append(answer.raise_for_status().json())
        time.sleep(0.4)


def start_kept(
    command: Sequence[str], users: Path, log: Path, variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a command that ends when no process holds ``users`` any more (`processes.shared`).

    The caller holds it. The process that is returned ends when the command and all that it started
    have ended.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "flows.server", str(users), *command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            # Ctrl-C is for the command, which ends the server when it has said its last word.
            start_new_session=True,
        )


_GRACE = 10.0
"""Seconds that a server has to end before it is killed."""


def keep(users: Path, command: Sequence[str]) -> None:
    """Run a command until nobody holds the file ``users``, then end it and all that it started."""
    alive, ours = os.pipe()
    watched = [sys.executable, "-m", "flows.server", _WATCHED, str(alive), *command]
    # Nobody else has our end of the pipe: it closes when this process ends, however it ends.
    process = subprocess.Popen(
        watched, stdin=subprocess.DEVNULL, start_new_session=True, pass_fds=[alive]
    )
    os.close(alive)
    with users.open("a") as file:
        while process.poll() is None and not taken_alone(file):
            time.sleep(0.2)
        _end(process, process.pid)
    os.close(ours)


_WATCHED = "--watched"


def watch(alive: int, command: Sequence[str]) -> None:
    """Run a command in the group of this process, and end the group when the pipe is closed."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    # It ends with the command.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while process.poll() is None:
        if select.select([alive], [], [], 0.2)[0]:
            _end(process, os.getpgrp())


def _end(process: subprocess.Popen[bytes], group: int) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)


if __name__ == "__main__":
    if sys.argv[1] == _WATCHED:
        watch(int(sys.argv[2]), sys.argv[3:])
    else:
        keep(Path(sys.argv[1]), sys.argv[2:])
