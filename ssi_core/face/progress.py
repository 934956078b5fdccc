"""Progress where somebody looks: a bar in a notebook, a line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from ssi_core.types import Progress

_BETWEEN = 0.2
"""Seconds between two updates."""


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
    last = 0.0

    def tell(fraction: float, message: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last > _BETWEEN:
            last = now
            show(fraction, message)

    return tell


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

    def draw(fraction: float, message: str) -> None:
        print(f"\r\x1b[K{fraction:4.0%} {message}"[:100], end="", file=sys.stderr, flush=True)

    return draw, lambda: print("\r\x1b[K", end="", file=sys.stderr, flush=True)
