"""Seconds of work, without those in which the kernels that it calls are compiled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event


class Clock:
    """Seconds that a block of code has worked; 0 until it ends."""

    seconds = 0.0


@contextmanager
def working() -> Iterator[Clock]:
    """Measure a block of code without the compilation of numba's kernels in it."""
    clock, compiling = Clock(), event.TimingListener()
    started = time.perf_counter()
    with event.install_listener("numba:compile", compiling):
        yield clock
    elapsed = time.perf_counter() - started
    clock.seconds = elapsed - (compiling.duration if compiling.done else 0.0)
