"""Progress where somebody looks: a bar in a notebook or on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from html import escape
from typing import Any

from ssi_core.face.show import duration
from ssi_core.types import Progress

_BETWEEN = 0.2
"""Seconds between two updates of a notebook."""
_SLOW = 5.0
"""Seconds after which the time that is left is told."""


@contextmanager
def shown(what: str) -> Iterator[Progress | None]:
    """Give a progress callback for the length of a block; None where nobody looks."""
    if (notebook := _notebook()) is not None:
        draw, clear = notebook
        yield _seldom(lambda fraction, message: draw(fraction, f"{what}: {message}"))
        clear()
    elif sys.stderr.isatty():
        from ssi_core.face.bars import bars

        with bars() as display, display.line(what) as on_progress:
            yield on_progress
    else:
        yield None


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Show on a terminal what is at work, until it tells how far it is itself."""
    # The output of a cell would keep an empty bar.
    with shown(name) if sys.stderr.isatty() else nullcontext():
        yield


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
    return f", {duration(spent * (1 - fraction) / fraction)} left"


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
