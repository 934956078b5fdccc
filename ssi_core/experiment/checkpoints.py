"""Keep what an interrupted row goes on from: one directory for each row, task and seed.

In it the state that some code has kept lies under the digest of that code. Code that computes
something else cannot go on from it, says so, and leaves it alone until the user removes it.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ssi_core import integrity, root, store
from ssi_core.code import digest_of
from ssi_core.experiment.tables import Row, Table
from ssi_core.tasks import training_part
from ssi_core.training.descend import Diverged
from ssi_core.types import Refused

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Attempt:
    """An attempt at a row: where its state is kept, and the threads of all attempts in turn."""

    state: Path
    threads: tuple[int, ...]


def reproducible(threads: Sequence[int]) -> bool:
    """Tell if the same seed gives the same bits: all attempts were on one thread."""
    return list(threads) == [1]


def checkpoints_of(table: Table, row: Row, task: str, seed: int, model: str | None = None) -> Path:
    """Return the directory of a row on the task of a key, with what else decides its bits."""
    chain = [[one.model, dict(one.parameters)] for one in table.chain(row)]
    settings = {"model": row.model, "parameters": dict(row.parameters), "seed": seed}
    settings |= {"chain": chain} | ({"start": model} if model else {})
    key = store.key_of("checkpoint", settings, {"task": task})
    return root.home() / "checkpoints" / key


def code_of(row: Row) -> str:
    """Return the digest of the code that decides the bits of a row."""
    return digest_of(training_part, *row.ranker().kinds())


def begun(kept: Path, row: Row, threads: int) -> Attempt:
    """Write down that threads have a part in the state of a row, which is kept there."""
    path = kept / code_of(row)
    return Attempt(path / _STATE, _threads_in_turn(path, threads))


@contextmanager
def attempt(kept: Path, row: Row, threads: int, what: str) -> Iterator[Attempt]:
    """Continue an interrupted attempt of this code, and delete its state at the end.

    Parameters
    ----------
    kept : Path
        Directory of the row, whose lock is held.
    row : Row
        What is computed.
    threads : int
        Threads of this attempt.
    what : str
        Names the row in the log.
    """
    now = begun(kept, row, threads)
    path = now.state.parent
    for other in sorted(kept.glob("*")):
        if other != path:
            log.warning(
                "%s: %s was interrupted there under other code, which this one cannot go on from; "
                "it begins anew. Go back to that code to use it, or remove that directory.",
                other,
                what,
            )
    try:
        yield now
    except BaseException as error:
        # What diverged would diverge again.
        if isinstance(error, Diverged) or not _has_state(path):
            remove(path)
        raise
    remove(path)


def remove(path: Path) -> None:
    """Remove what one code has left of a row; what other code has left stays."""
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):  # as long as something is left beside it
        path.parent.rmdir()


_STATE, _THREADS = "state", "threads.json"
_PATIENCE = 30.0
"""Seconds in which a worker ends whose command was killed."""


@contextmanager
def alone(kept: Path, what: str) -> Iterator[None]:
    """Keep others out of a row's checkpoint; `Refused` when another process goes on with it."""
    end = time.monotonic() + _PATIENCE
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(store.locked(kept, what))
                break
            except Refused:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        yield


def _threads_in_turn(path: Path, threads: int) -> tuple[int, ...]:
    """Record the threads of an attempt, and return those of all attempts."""
    file = path / _THREADS
    in_turn: list[int] = []
    if _has_state(path) and file.exists():
        remedy = f"Remove {path}, and the row begins anew."
        in_turn = integrity.read_manifest(path, _THREADS, remedy)["in_turn"]
    if in_turn[-1:] != [threads]:
        in_turn = [*in_turn, threads]
    path.mkdir(parents=True, exist_ok=True)
    integrity.write_manifest(path, _THREADS, {"files": {}, "in_turn": in_turn}, durable=False)
    return tuple(in_turn)


def _has_state(path: Path) -> bool:
    return any(path.glob(f"{_STATE}*"))
