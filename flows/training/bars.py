"""Bars on a terminal for what worker processes write on the board."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.training import board
from ssi_core.command.bars import Bars

_SECONDS_BETWEEN_LOOKS = 0.3


@contextmanager
def shown_board() -> Iterator[None]:
    """Show what processes post on a board while the body runs, if a person looks."""
    if not sys.stderr.isatty():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="ssi-board-") as place, Bars() as bars:
        over = threading.Event()
        looking = threading.Thread(target=_look, args=(Path(place), bars, over), daemon=True)
        os.environ[board.VARIABLE] = place
        looking.start()
        try:
            yield
        finally:
            del os.environ[board.VARIABLE]
            over.set()
            looking.join()


def _look(place: Path, bars: Bars, over: threading.Event) -> None:
    while not over.wait(_SECONDS_BETWEEN_LOOKS):
        lines = board.lines(place)
        for line in lines:
            bars.show(str(line["name"]), line["fraction"], str(line["message"]))
        bars.keep({str(line["name"]) for line in lines})
