"""A Prefect server in the background of one command.

The temporary server that Prefect starts by itself loses task records when it ends. This one is a
real ``prefect server start`` with its database under ``PREFECT_HOME``, so that ``ssi ui`` shows
the runs later. It takes about ten seconds to start, during which other work can be done; it listens
on 127.0.0.1 alone, and ends with the command, however that ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO

from flows import environment

logger = logging.getLogger(__name__)


class Server:
    """A Prefect server for the length of a ``with`` block; nothing if the user has one.

    ``with Server() as server: ...; server.ready(); flow()``: other work goes before ``ready``.
    """

    def __init__(self, *, patience: float = 180.0) -> None:
        self._patience = patience
        self._keeper: subprocess.Popen[bytes] | None = None
        self._inside = contextlib.ExitStack()
        self._is_ready = False
        self.log = environment.home() / "prefect" / "server.log"
        self.url = ""

    def __enter__(self) -> Server:
        environment.prepare()
        self.url = chosen_url()
        if not self.url:
            port = free_port()
            self.url = f"http://127.0.0.1:{port}/api"
            self.log.parent.mkdir(parents=True, exist_ok=True)
            self._keeper = self._start(port)
        return self

    def _start(self, port: int) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "flows.server", *server_command(port)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PREFECT_API_URL": self.url},
                # Ctrl-C is for the command, which ends the server when it has said its last word.
                start_new_session=True,
            )

    def ready(self) -> str:
        """Wait until the server answers, make it Prefect's server, and return its address.

        Raises
        ------
        RuntimeError
            It ended, or did not answer in time; the message has the end of its log.
        """
        if self._keeper is not None and not self._is_ready:
            self._wait(self._keeper)
            from prefect.settings import PREFECT_API_URL, temporary_settings

            os.environ["PREFECT_API_URL"] = self.url
            self._inside.callback(os.environ.pop, "PREFECT_API_URL", None)
            self._inside.enter_context(temporary_settings({PREFECT_API_URL: self.url}))
            self._is_ready = True
        return self.url

    def _wait(self, keeper: subprocess.Popen[bytes]) -> None:
        import httpx

        end = time.monotonic() + self._patience
        while time.monotonic() < end and keeper.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/health", timeout=2).status_code == 200:
                    return
            time.sleep(0.1)
        said = self.log.read_text(errors="replace")[-500:]
        raise RuntimeError(f"the Prefect server did not start; {self.log} ends with:\n{said}")

    def __exit__(self, *raised: object) -> None:
        if self._keeper is None:
            return
        try:
            if self._is_ready:
                _settle(self.url)
        finally:
            self._inside.close()
            pipe: IO[bytes] | None = self._keeper.stdin
            if pipe is not None:
                pipe.close()
            self._keeper.wait()


def chosen_url() -> str:
    """Return the address of the server that the user, or a test, has chosen; '' if none."""
    if "prefect" in sys.modules:
        from prefect.settings import PREFECT_API_URL

        return PREFECT_API_URL.value() or ""
    return os.environ.get("PREFECT_API_URL", "")


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def server_command(port: int) -> list[str]:
    """Return the command that starts a server on 127.0.0.1."""
    start = ["-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    return [sys.executable, *start]


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


def _read_all(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()


def keep(command: Sequence[str], *, grace: float = 10.0) -> None:
    """Run a command until standard input ends, then end it and all that it started.

    The operating system closes the pipe of a parent that dies, so that no server is left behind.
    """
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    ended = threading.Event()
    threading.Thread(target=_read_all, args=(ended,), daemon=True).start()
    while process.poll() is None and not ended.wait(0.2):
        pass
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)


if __name__ == "__main__":
    keep(sys.argv[1:])
