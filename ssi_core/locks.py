"""Locks of files. The operating system lets go for a process that dies, however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ssi_core import system


def opened(path: Path) -> IO[str]:
    """Open a file to lock it, and make it where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+")


def share(file: IO[str]) -> None:
    """Hold an open file together with others; waits while one process has it alone."""
    system.lock(file.fileno(), alone=False)


def take(file: IO[str]) -> bool:
    """Hold an open file alone; False while another process holds it."""
    try:
        system.lock(file.fileno(), wait=False)
    except BlockingIOError:
        return False
    return True


@contextmanager
def shared(path: Path) -> Iterator[IO[str]]:
    """Hold a file together with others."""
    with opened(path) as file:
        share(file)
        yield file


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Hold a file alone; waits until no other process holds it."""
    with opened(path) as file:
        system.lock(file.fileno())
        yield


@contextmanager
def alone(path: Path, what: str) -> Iterator[None]:
    """Hold a file alone, and remove it at the end.

    Raises
    ------
    Refused
        Another process holds the file; the message names the process and ``what``.
    """
    while True:
        with opened(path) as file:
            if not take(file):
                raise _refused(file, what)
            # The last holder may have removed the file between our opening and locking it.
            if not (path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno()))):
                continue
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _refused(file: IO[str], what: str) -> Exception:
    # Not above: it loads numpy, which 'ssi --help' need not wait for.
    from ssi_core.types import Refused

    file.seek(0)
    return Refused(
        f"{what} is being written by process {file.read().strip() or 'unknown'}. Wait until it is "
        "done, or end that process, and run this again."
    )
