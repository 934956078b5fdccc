"""How a process of our own uses memory: one heap, and garbage that is seldom looked for."""

from __future__ import annotations

import atexit
import gc
from functools import cache

from ssi_core import system

_YOUNG = 100_000
"""Objects after which garbage is looked for: modules make hundreds of thousands that stay."""

_MUCH = 128 << 20
"""Bytes that are worth a look for garbage."""


@cache
def economise() -> None:
    """Let all threads share one heap, look for garbage seldom, and not at the end of the process.

    All of a process is changed, so it is for one of our own. Python looks through all objects once
    more when it ends, half a second after Prefect or MLflow. What is left then goes with the
    process.
    """
    system.share_heap()
    gc.set_threshold(_YOUNG)
    atexit.register(gc.freeze)


class Garbage:
    """Garbage of stages that need much memory for a while.

    To look for it is to look at every object of the process, which takes longer than a stage on a
    small collection.
    """

    def __init__(self) -> None:
        self._before = system.memory()

    def collect(self) -> None:
        """Give free memory back; look for garbage first, where the process has grown by much."""
        now = system.memory()
        if now is None or self._before is None or now - self._before > _MUCH:
            gc.collect()
        system.give_back()
