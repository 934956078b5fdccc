"""Processes that still live, by name; and their scratch space.

What a killed process leaves behind cannot be cleared by itself; the next command clears it, and
must not take what belongs to a command that still runs.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from flows import environment

_log = logging.getLogger(__name__)
_SAME_START = 2.0
"""Seconds by which two readings of the start of one process may differ."""


@cache
def process_table() -> str:
    """Return where numbers of processes mean the same: the machine, and its table of processes.

    Each container has a table of its own; a number of one means another process in the next.
    """
    try:
        table = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:  # a system without such tables
        table = 0
    return f"{socket.gethostname()}.{table}"


@cache
def name_of(pid: int) -> str:
    """Return a name of a process that no other has: table of processes, number and start."""
    import psutil

    return f"{process_table()}-{pid}-{psutil.Process(pid).create_time():.2f}"


def own_name() -> str:
    """Return the name of this process."""
    return name_of(os.getpid())


def is_here(name: str) -> bool:
    """Say whether a process, living or not, is of this `process_table`."""
    return name.rsplit("-", 2)[0] == process_table()


def is_over(name: str) -> bool:
    """Say whether a process of this `process_table` has ended; never so of another one."""
    import psutil

    if not is_here(name):
        return False
    _, pid, start = name.rsplit("-", 2)
    try:
        process = psutil.Process(int(pid))
        reused = abs(process.create_time() - float(start)) > _SAME_START
        return bool(reused or process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def machine_of(name: str) -> str:
    """Return the machine of a process, whatever its table."""
    return name.rsplit("-", 2)[0].rpartition(".")[0]


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Keep temporary files of this process and its children in a directory under ``.ssi/tmp``.

    It goes with the block; those of commands that were killed go now. Where none can be made, as on
    a full disk, the system's directory serves: what only reads, or makes room, need not fail.
    """
    space = environment.home() / "tmp"
    path = space / own_name()
    clear_scratch(space)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _log.debug("%s: %s", path, error)
        yield Path(tempfile.gettempdir())
        return
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir, os.environ["TMPDIR"] = str(path), str(path)
    try:
        yield path
    finally:
        tempfile.tempdir = before
        if variable is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = variable
        shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):
            space.rmdir()


def clear_scratch(space: Path) -> None:
    """Remove the directories of processes that are over."""
    for left in space.glob("*-*-*"):
        if is_over(left.name):
            shutil.rmtree(left, ignore_errors=True)
