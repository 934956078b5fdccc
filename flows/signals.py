"""SIGTERM is Ctrl-C: what a command holds is let go, and its exit code says which signal it was."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_CLEARING = 10.0
"""Seconds in which another SIGTERM is one too many."""

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM came; whatever clears up after Ctrl-C clears up after it too."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` where the body is when SIGTERM comes.

    A second SIGTERM does not disturb what the first one began, unless it comes much later: Python
    drops what is raised in a callback of a library, and then nothing has begun. Signals belong to
    the main thread; in another one this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last = -math.inf

    def terminate(number: int, frame: FrameType | None) -> None:
        nonlocal last
        if time.monotonic() - last > _CLEARING:
            last = time.monotonic()
            raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def code_of(error: BaseException) -> int | None:
    """Return the exit code of the signal that an error came of; None: it came of none.

    What fails while a signal clears up is not the reason. A row that SIGTERM ends in the main
    thread ends with `SystemExit`, as its run says.
    """
    code: int | None = None
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, Terminated) or (
            isinstance(seen, SystemExit) and seen.code == TERMINATED
        ):
            return TERMINATED
        if isinstance(seen, KeyboardInterrupt):
            code = INTERRUPTED
        seen = seen.__cause__ or seen.__context__
    return code


def end_at_once(*signals: signal.Signals) -> None:
    """Let signals end this process with their exit code where nothing is to be cleared up."""
    for one in signals:
        signal.signal(one, _end)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)
