"""Memory, disk and threads of a stage: what it takes is said before it starts, and bounded."""

from __future__ import annotations

import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import psutil
from threadpoolctl import ThreadpoolController, threadpool_limits

from ssi_core import system
from ssi_core.types import BadInput, Refused

log = logging.getLogger(__name__)

_CGROUPS = Path("/sys/fs/cgroup")
_V2 = ("memory.max", "memory.current", "inactive_file")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Cost(NamedTuple):
    """Bytes of memory that a fit adds at its peak, and of disk for its checkpoints."""

    memory: int
    disk: int


_NOTHING_ELSE = "Close other programs, or run it where there is more memory."
FEWER = "Take fewer words, fewer dimensions or a collection with fewer links."
"""What makes the fit of any model smaller."""


def memory_available() -> int:
    """Bytes that this process can still take before something stops it.

    The least of what the machine has left, what the control group (version 1 or 2, and those above
    it) leaves, what RLIMIT_AS and RLIMIT_DATA leave, and ``SSI_MEMORY`` (bytes, or "4G").

    Raises
    ------
    BadInput
        ``SSI_MEMORY`` is not an amount of memory.
    """
    return min(_bounds())[0]


def disk_free(directory: Path) -> int:
    """Bytes free where a directory lies or will lie."""
    path = Path(directory).absolute()
    return shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free


def require(
    stage: str,
    *,
    memory: int,
    directory: Path | None = None,
    disk: int = 0,
    remedy: str = "",
) -> None:
    """Say what a stage takes, and refuse it where that does not fit; call it before the stage.

    Parameters
    ----------
    stage : str
        Its name, as a user knows it.
    memory : int
        Bytes that it will add at its peak.
    directory : Path or None
        Where it writes.
    disk : int
        Bytes that it writes there.
    remedy : str
        Settings that would make it take less memory, as a sentence.

    Raises
    ------
    Refused
        Memory or disk is too small; the message says by how much, and what helps.
    """
    free = memory_available()
    takes, has = f"{amount(memory)} of memory", amount(free)
    if memory > free:
        _, bound = min(_bounds())
        least = "Run it where there is more memory." if bound else _NOTHING_ELSE
        raised = f" Or raise what bounds it: {bound}." if bound else ""
        raise Refused(f"{stage} takes about {takes}, and {has} are free. {remedy or least}{raised}")
    if directory is not None:
        room = disk_free(directory)
        written = f"{amount(disk)} of disk at {directory}"
        if disk > room:
            raise Refused(
                f"{stage} takes about {written}, and {amount(room)} are free there. Make room, or "
                "name another directory."
            )
        takes, has = f"{takes} and {written}", f"{has}, {amount(room)}"
    if memory or disk:
        log.info("%s: takes about %s (free: %s)", stage, takes, has)


def amount(size: int) -> str:
    """Write a number of bytes for people: two digits at least, decimal units.

    >>> amount(1_234_567_890), amount(34_000_000), amount(999), amount(1_000_000)
    ('1.2 GB', '34 MB', '999 B', '1.0 MB')
    """
    value, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            break
        value /= 1000
    return f"{value:.1f} {unit}" if value < 9.95 and unit != "B" else f"{value:.0f} {unit}"


def _bounds() -> Iterator[tuple[int, str]]:
    """Yield the bytes that each bound leaves, and its name; that of the machine has none."""
    yield int(psutil.virtual_memory().available), ""
    yield from ((max(0, left), "the control group") for left in _left_by_groups())
    yield from ((max(0, left), name) for left, name in _left_by_limits())
    if setting := os.environ.get("SSI_MEMORY"):
        yield _parsed(setting), "SSI_MEMORY"


def _parsed(said: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", said, re.IGNORECASE)
    if match is None:
        raise BadInput(f"SSI_MEMORY={said!r} is not an amount of memory; write bytes, or 4G.")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _left_by_limits() -> Iterator[tuple[int, str]]:
    taken = psutil.Process().memory_info()
    for name, used, shown in (
        ("RLIMIT_AS", taken.vms, "ulimit -v"),
        ("RLIMIT_DATA", getattr(taken, "data", 0), "ulimit -d"),
    ):
        if (limit := system.limit(name)) is not None:
            yield limit - used, shown


def _left_by_groups(
    cgroups: Path = _CGROUPS, own: Path = Path("/proc/self/cgroup")
) -> Iterator[int]:
    # A group is bounded by every group above it; inside a container only its own may be visible.
    if not own.exists():
        return
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base, names = cgroups, _V2
        elif "memory" in controllers.split(","):
            base, names = cgroups / "memory", _V1
        else:
            continue
        group = base / path.lstrip("/")
        for directory in (group, *group.parents):
            if directory.is_relative_to(base) and (directory / names[0]).is_file():
                yield from _left_in(directory, *names)


def _left_in(group: Path, limit: str, usage: str, cache: str) -> Iterator[int]:
    limit_text = (group / limit).read_text().strip()
    if limit_text == "max":
        return
    # Pages of files that nobody uses are given back when memory is short.
    stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    yield int(limit_text) - int((group / usage).read_text()) + int(stat.get(cache, 0))


@contextmanager
def limited(n: int) -> Iterator[None]:
    """Let numba, BLAS and OpenMP use at most n threads; afterwards what they used before.

    numba's number is of the calling thread, the others are of the process. polars takes its number
    from ``POLARS_MAX_THREADS`` once, when it is imported, so that a command sets it before.

    Raises
    ------
    ValueError
        n is less than 1.
    """
    if n < 1:
        raise ValueError(f"n={n}: expected at least 1 thread")
    # Not numba by itself: kernels close the files of the working directory to it.
    from ssi_core.kernels.compiling.configuration import numba

    before = numba.get_num_threads()
    # More than numba has started would be an error; fewer are only slower.
    numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(n):
            yield
    finally:
        numba.set_num_threads(before)


@cache
def blas() -> ThreadpoolController:
    """Return the controls of BLAS: numpy has loaded its own, and to look for it takes 10 ms."""
    return ThreadpoolController()


class Usage:
    """Time and memory that work has taken since this was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._anew = _forget_peak_memory()

    def so_far(self) -> dict[str, float]:
        """Return ``row_seconds``, and ``peak_memory_mib`` of the process."""
        seconds = time.monotonic() - self._began
        return {"row_seconds": seconds, "peak_memory_mib": _peak_memory(self._anew)}


_PROCESS = Path("/proc/self")


def _forget_peak_memory() -> bool:
    # A worker does many rows; Linux can begin the peak anew. Elsewhere it is that of the process.
    try:
        (_PROCESS / "clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _peak_memory(anew: bool) -> float:
    # MiB.
    if anew:
        for line in (_PROCESS / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return (system.most_memory() or psutil.Process().memory_info().rss) / (1 << 20)
