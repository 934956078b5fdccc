"""Progress where somebody looks: a bar in a notebook, a line on a terminal, nothing elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from ssi_core.types import Progress

_BETWEEN = 0.2
"""Seconds between two updates."""
_SLOW = 5.0
"""Seconds after which the time that is left is told."""
_WIDTH = 12
"""Characters of a bar."""
CLEAR = "\r\x1b[K"
"""Takes a line of progress from the terminal."""


@contextmanager
def shown(what: str) -> Iterator[Progress | None]:
    """Give a progress callback for the length of a block; None where nobody looks."""
    draw, clear = _notebook() or _terminal() or (None, None)
    if draw is None or clear is None:
        yield None
        return
    yield _seldom(lambda fraction, message: draw(fraction, f"{what}: {message}"))
    clear()


def _seldom(show: Progress) -> Progress:
    began = last = time.monotonic()

    def on_progress(fraction: float, message: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last > _BETWEEN:
            last = now
            show(fraction, message + _left(now - began, fraction))

    return on_progress


def _left(spent: float, fraction: float) -> str:
    if spent < _SLOW or not 0 < fraction < 1:
        return ""
    return f", {left_of(spent * (1 - fraction) / fraction)}"


def left_of(seconds: float | None) -> str:
    """Write the time that is left: ``2:05 left``; nothing if it is not known."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"


def _notebook() -> tuple[Progress, Callable[[], None]] | None:
    """Return how to draw and to clear a bar in the output of a cell; None outside of a notebook."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython and ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]

    handle = display(HTML(""), display_id=True)

    def draw(fraction: float, message: str) -> None:
        bar = f'<progress max="1" value="{fraction:.3f}"></progress> {escape(message)}'
        handle.update(HTML(bar))

    return draw, lambda: handle.update(HTML(""))


def _terminal() -> tuple[Progress, Callable[[], None]] | None:
    if not sys.stderr.isatty():
        return None

    width = max(20, shutil.get_terminal_size().columns - 1)

    def draw(fraction: float, message: str) -> None:
        done = round(_WIDTH * min(1.0, max(0.0, fraction)))
        bar = "━" * done + "╌" * (_WIDTH - done)
        line = f"{bar} {fraction:4.0%} {message}"[:width]
        print(f"{CLEAR}{line}", end="", file=sys.stderr, flush=True)

    return draw, lambda: print(CLEAR, end="", file=sys.stderr, flush=True)
