"""Long-lived worker processes for rows: kernels are compiled once per process, not once per row."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import ParamSpec, Self, TypeVar

from flows.training.board import say
from ssi_core.command.text import TerminalHandler
from ssi_core.pool import Pool

P = ParamSpec("P")
T = TypeVar("T")

_GRACE = 20.0
"""Seconds that an interrupted row has to write down that it was interrupted."""


class Workers(Pool):
    """Processes that train rows (`ssi_core.pool`); what they log is shown as text."""

    def __init__(self, processes: int, threads: int = 1) -> None:
        super().__init__(processes, threads, grace=_GRACE, prepare=_show_logs)


class InProcess:
    """Run jobs in this process: one more would load MLflow for longer than a night trains."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def run(self, form: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function, and return what it returns."""
        return function(*args, **kwargs)


class _Handler(TerminalHandler):
    """A handler that leaves a terminal with bars to the process that draws them."""

    def write(self, text: str) -> None:
        if not say(text):
            super().write(text)


def _show_logs() -> None:
    # Nobody else handles what is logged in a worker.
    logging.lastResort = _Handler(logging.WARNING)
