"""Progress from worker processes to a terminal: each writes a line of a board that is looked at.

The board is a directory with a file a line. It is there only while a command shows it to a person;
otherwise nothing is written. This module imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ssi_core.face.show import count

VARIABLE = "SSI_BOARD"
_SAID = ".said"

Watch = Callable[[int, Mapping[str, float]], None]


def post(name: str, fraction: float | None, message: str) -> None:
    """Write a line: what works, how much of it is done (None: nobody knows), and a message."""
    if (line := _line(name)) is not None:
        # A progress that cannot be shown ends no work.
        with contextlib.suppress(OSError):
            new = line.with_suffix(f".{os.getpid()}")
            text = json.dumps({"name": name, "fraction": fraction, "message": message})
            new.write_text(text, encoding="utf-8")
            new.rename(line)


def take_off(name: str) -> None:
    """Remove a line."""
    if (line := _line(name)) is not None:
        with contextlib.suppress(OSError):
            line.unlink(missing_ok=True)


@contextlib.contextmanager
def posted(name: str, message: str = "") -> Iterator[None]:
    """Remove a line when the body is over; with a message it begins with the body."""
    if message:
        post(name, None, message)
    try:
        yield
    finally:
        take_off(name)


def _line(name: str) -> Path | None:
    board = os.environ.get(VARIABLE)
    return Path(board, f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json") if board else None


def say(text: str) -> bool:
    """Write what is to stand above the lines; False where no board is shown."""
    board = os.environ.get(VARIABLE)
    if not board:
        return False
    with contextlib.suppress(OSError):
        new = Path(board, f"{time.time_ns()}-{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.rename(new.with_suffix(_SAID))
    return True


def said(board: Path) -> list[str]:
    """Take what was said from a board, in the order of time."""
    texts = []
    for file in sorted(board.glob(f"*{_SAID}")):
        with contextlib.suppress(OSError, ValueError):
            texts.append(file.read_text(encoding="utf-8"))
            file.unlink()
    return texts


def lines(board: Path) -> list[dict[str, Any]]:
    """Read the lines of a board, in the order of their names."""
    lines_shown = []
    for file in board.glob("*.json"):
        with contextlib.suppress(OSError, ValueError):
            lines_shown.append(json.loads(file.read_text(encoding="utf-8")))
    return sorted(lines_shown, key=lambda line: str(line["name"]))


def row_name(label: str, seed: int) -> str:
    """Name the line of a row."""
    return f"{label}, seed {seed}" if seed else label


def watched(watch: Watch, name: str, budget: int | None) -> Watch:
    """Begin a line; return a watch that posts how many triples are learnt, and how well.

    Parameters
    ----------
    watch : Watch
        Callback of the training.
    name : str
        Name of the line.
    budget : int or None
        Triples at most; a training that no longer improves ends before.
    """
    post(name, None, "begins")

    def both(step: int, metrics: Mapping[str, float]) -> None:
        watch(step, metrics)
        fraction = min(1.0, step / budget) if budget else None
        of = f" of {count(budget)}" if budget else ""
        losses = [metrics[key] for key in metrics if _is_validation_loss(key)]
        loss = f", validation loss {100 * losses[0]:.2f} %" if losses else ""
        post(name, fraction, f"{count(step)}{of} triples{loss}")

    return both


def _is_validation_loss(name: str) -> bool:
    """Tell the rank loss on validation, of the whole model or of a part, from other metrics."""
    return name.startswith("val/") and name.endswith("/rank_loss")
