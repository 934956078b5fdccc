"""Long-lived worker processes for rows: kernels are compiled once per process, not once per row."""

from __future__ import annotations

import logging

from flows.training.board import say
from ssi_core.command.text import TerminalHandler
from ssi_core.pool import Pool

_GRACE = 20.0
"""Seconds that an interrupted row has to write down that it was interrupted."""


class Workers(Pool):
    """Processes that train rows (`ssi_core.pool`); what they log is shown as text."""

    def __init__(self, processes: int, threads: int = 1) -> None:
        super().__init__(processes, threads, grace=_GRACE, prepare=_show_logs)


class _Handler(TerminalHandler):
    """A handler that leaves a terminal with bars to the process that draws them."""

    def write(self, text: str) -> None:
        if not say(text):
            super().write(text)


def _show_logs() -> None:
    # Nobody else handles what is logged in a worker.
    logging.lastResort = _Handler(logging.WARNING)
