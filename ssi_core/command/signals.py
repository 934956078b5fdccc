"""SIGTERM is Ctrl-C: what a command holds is let go, and its exit code says which signal it was."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ssi_core.errors import chain_of

_AGAIN = 0.05
"""Seconds until a signal comes again that Python dropped."""

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM came; whatever clears up after Ctrl-C clears up after it too."""


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` where the body is when SIGTERM comes.

    A second SIGTERM does not disturb what the first one began. Signals belong to the main thread;
    in another one this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def terminate(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if not came:
            came = True
            raise Terminated

    def dropped(error: sys.UnraisableHookArgs) -> None:
        # Python drops what is raised while it removes an object. The signal comes again when that
        # is over.
        nonlocal came
        number = _signal_of(error.exc_value)
        if number is None:
            hook(error)
            return
        came = False
        left = threading.Event()
        threading.Thread(target=_come_again, args=(number, left), daemon=True).start()
        left.set()

    before, hook = signal.signal(signal.SIGTERM, terminate), sys.unraisablehook
    sys.unraisablehook = dropped
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, before)


def _come_again(number: int, left: threading.Event) -> None:
    """Send a signal to this process once its main thread has left the hook, which drops it too."""
    left.wait()
    time.sleep(_AGAIN)
    os.kill(os.getpid(), number)


def _signal_of(error: BaseException | None) -> int | None:
    """Return the signal whose handler raised an error; None: no handler did.

    A flow has a handler of Prefect's, whose error has the number.
    """
    if isinstance(error, KeyboardInterrupt):
        return signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT
    number = getattr(error, "signal", None)
    return number if isinstance(number, int) and not isinstance(error, Exception) else None


def code_of(error: BaseException) -> int | None:
    """Return the exit code of the signal that an error came of; None: it came of none.

    What fails while a signal clears up is not the reason. A row that SIGTERM ends in the main
    thread ends with `SystemExit`, as its run says.
    """
    code: int | None = None
    for seen in chain_of(error):
        if isinstance(seen, Terminated) or (
            isinstance(seen, SystemExit) and seen.code == TERMINATED
        ):
            return TERMINATED
        if isinstance(seen, KeyboardInterrupt):
            code = INTERRUPTED
    return code


def end_at_once(*signals: signal.Signals) -> None:
    """Let signals end this process with their exit code where nothing is to be cleared up."""
    for one in signals:
        signal.signal(one, _end)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)
