"""Bars on a terminal for what worker processes write on the board."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flows.training import board
from ssi_core.face.bars import Bars, bars

_SECONDS_BETWEEN_LOOKS = 0.3


@contextmanager
def shown_board() -> Iterator[None]:
    """Show what processes post on a board while the body runs, if a person looks."""
    if not sys.stderr.isatty():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="ssi-board-") as path, bars() as display:
        over = threading.Event()
        looking = threading.Thread(target=_look, args=(Path(path), display, over), daemon=True)
        os.environ[board.VARIABLE] = path
        looking.start()
        try:
            yield
        finally:
            del os.environ[board.VARIABLE]
            over.set()
            looking.join()


def _look(path: Path, display: Bars, over: threading.Event) -> None:
    before: dict[str, dict[str, Any]] = {}
    while not over.wait(_SECONDS_BETWEEN_LOOKS):
        _print_said(path)
        lines = {str(line["name"]): line for line in board.lines(path)}
        for name, line in lines.items():
            if line != before.get(name):
                display.show(name, line["fraction"], str(line["message"]))
        for name in before.keys() - lines.keys():
            display.remove(name)
        before = lines
    _print_said(path)
    for name in before:
        display.remove(name)


def _print_said(path: Path) -> None:
    for text in board.said(path):
        print(text, file=sys.stderr)
