"""Commands that end when no process holds a file any more, however these processes end.

``python -m flows.servers.supervisor USERS COMMAND ...`` keeps a command; see `start_kept`.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self
from urllib.parse import urlsplit

from flows.servers.isolation import NOWHERE
from ssi_core import locks, private


def start_kept(
    command: Sequence[str], users: Path, log: Path, variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a command that ends when no process holds ``users`` any more (`locks.shared`).

    The caller holds it. The process that is returned ends when the command and all that it started
    have ended.
    """
    private.directory(log.parent)
    with os.fdopen(private.opened(log), "wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "flows.servers.supervisor", str(users), *command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            cwd=NOWHERE,
            # Ctrl-C is for the command, which ends the server when it has said its last word.
            start_new_session=True,
        )


class Kept(ABC):
    """A command that is kept for the length of a ``with`` block.

    A subclass starts the command (``begin``) and tells whether it ``answers``.

    Attributes
    ----------
    name : str
        What it is.
    address : str
        What a person opens, or is told of it.
    log : Path
        File of what the command says; the file of its users lies beside it.
    patience : float
        Seconds that it may take to answer.
    """

    name: str
    log: Path
    patience = 180.0
    address = ""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as inside:
            self.users: IO[str] = inside.enter_context(locks.shared(self._users))
            self.begin()
            self.inside = inside.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self.inside.close()
        self.process.wait()

    @abstractmethod
    def begin(self) -> None:
        """Start the command."""

    @abstractmethod
    def answers(self) -> bool:
        """Tell whether the command answers."""

    def start(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        """Start a command that ends with its last user."""
        self.process = start_kept(command, self._users, self.log, variables)

    def is_over(self) -> bool:
        """Tell whether the command has ended by itself."""
        return self.process.poll() is not None

    def wait(self) -> None:
        """Wait until the command answers.

        Raises
        ------
        RuntimeError
            It ended, or did not answer in time; the message has the end of its log.
        OSError
            The disk of its log is full, which the log cannot say.
        """
        end = time.monotonic() + self.patience
        while time.monotonic() < end and not self.is_over():
            if self.answers():
                return
            time.sleep(0.1)
        with tempfile.TemporaryFile(dir=self.log.parent) as probe:
            probe.write(bytes(4096))
        lines = self.log.read_text(errors="replace")[-500:] if self.log.exists() else ""
        what = "did not start"
        if not self.is_over():
            what = f"did not answer within {self.patience:g} seconds; try again when less runs here"
        raise RuntimeError(f"{self.name} {what}; {self.log} ends with:\n{lines}")

    @property
    def _users(self) -> Path:
        return self.log.with_suffix(".users")


def answers_at(url: str, secret: str | None = None) -> bool:
    """Tell whether a server says that it is well; ``secret`` is USER:PASSWORD."""
    if not _listens(url):
        # A server starts for seconds, and a request loads certificates each time.
        return False
    import httpx

    user, _, password = (secret or "").partition(":")
    with contextlib.suppress(httpx.HTTPError):
        auth = (user, password) if secret else None
        return httpx.get(url, auth=auth, timeout=2, trust_env=False).is_success
    return False


def _listens(url: str) -> bool:
    """Tell whether anybody listens at the port of an address."""
    to = urlsplit(url)
    with contextlib.suppress(OSError), socket.create_connection((to.hostname, to.port), 2):
        return True
    return False


GRACE = 10.0
"""Seconds that a server has to end before it is killed."""


def keep(users: Path, command: Sequence[str]) -> None:
    """Run a command until nobody holds the file ``users``, then end it and all that it started."""
    alive, ours = os.pipe()
    watched = [sys.executable, "-m", "flows.servers.supervisor", _WATCHED, str(alive), *command]
    # Nobody else has our end of the pipe: it closes when this process ends, however it ends.
    process = subprocess.Popen(
        watched, stdin=subprocess.DEVNULL, start_new_session=True, pass_fds=[alive]
    )
    os.close(alive)
    with locks.opened(users) as file:
        while process.poll() is None and not locks.take(file):
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
    """End a group, and what its processes started in groups of its own."""
    import psutil

    below = []
    with contextlib.suppress(psutil.NoSuchProcess):
        below = psutil.Process(process.pid).children(recursive=True)
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, sign)
        for one in below:
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                if os.getpgid(one.pid) != group:
                    one.send_signal(sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)


if __name__ == "__main__":
    if sys.argv[1] == _WATCHED:
        watch(int(sys.argv[2]), sys.argv[3:])
    else:
        keep(Path(sys.argv[1]), sys.argv[2:])
