"""Locks, limits and cores of the operating system, and what takes their place where it has none.

Windows has neither `fcntl` nor `resource`: there a lock holds nothing, and nothing is limited.
"""

from __future__ import annotations

import ctypes
import logging
import mmap
import os
from functools import cache
from pathlib import Path

try:
    import fcntl
    import resource
except ImportError:
    POSIX = False
    """Whether this system locks and limits, and opens directories as files."""
else:
    POSIX = True

_LOG = logging.getLogger(__name__)


def lock(descriptor: int, *, alone: bool = True, wait: bool = True) -> None:
    """Lock an open file, or a directory, for as long as it is open.

    Raises
    ------
    BlockingIOError
        Another process holds it, and this one does not wait.
    """
    if POSIX:
        how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        fcntl.flock(descriptor, how if wait else how | fcntl.LOCK_NB)
    else:
        _say_that_nothing_is_locked()


@cache
def _say_that_nothing_is_locked() -> None:
    _LOG.warning(
        "this system has no locks that ssi knows, and ssi is tested on Linux alone: let one "
        "process at a time write to a directory"
    )


def limit(name: str) -> int | None:
    """Return a limit of this process, such as ``"RLIMIT_AS"``; None where it has none."""
    if not POSIX:
        return None
    soft, _ = resource.getrlimit(getattr(resource, name))
    return None if soft == resource.RLIM_INFINITY else soft


def lower(name: str, size: int) -> None:
    """Lower a limit of this process to a size, where it is not lower already."""
    if POSIX:
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(
            kind, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard)
        )


def most_memory() -> int | None:
    """Return the most memory that this process has held, in bytes; None where it is not counted."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 if POSIX else None


def memory() -> int | None:
    """Return the memory that this process holds now, in bytes; None where it is not counted."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * mmap.PAGESIZE
    except OSError:
        return None


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_mine(status: os.stat_result) -> bool:
    """Tell whether a file belongs to the user; where files have no such owners, it does."""
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def give_back() -> None:
    """Return memory that the allocator keeps free to the system, where it is that of glibc."""
    _of_glibc("malloc_trim", 0)


def share_heap() -> None:
    """Let glibc allocate for all threads from one heap: each heap keeps what it frees."""
    _of_glibc("mallopt", _ARENA_MAX, 1)


_ARENA_MAX = -8
"""What glibc's ``malloc.h`` calls ``M_ARENA_MAX``."""


def _of_glibc(name: str, *arguments: int) -> None:
    if POSIX and (function := getattr(ctypes.CDLL(None), name, None)) is not None:
        function(*arguments)
