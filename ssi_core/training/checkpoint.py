"""Checkpoints: a log of an array's files, of which a save adds the rows that have changed.

``progress.json`` names the files of each array, in the order in which they are laid over each
other, and how many of them make the best. Files are never changed: a save adds some, puts a new
``progress.json`` in the place of the last one, and then removes those that it does not name. A kill
at any point leaves one of the two states whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core import files, integrity
from ssi_core.arrays import load_array
from ssi_core.training.best import PASSING, Kept

MANIFEST = "progress.json"
"""Of a checkpoint: how far the training is, its files and their digests."""

SHARE, GRACE = 0.03, 0.5
"""Saves take at most so much of the time of a training, and half a second more.

The end of a training is no reason to save: its model is saved next, and a kill in between loses no
more than one at any other time.
"""

_SPEED = 5e8
"""Bytes a second of the first save, as long as none was timed."""

_MOST_ROWS = 0.5
"""Rows that are laid over an array take at most so much of its size."""


@dataclass
class Log:
    """Files of an array: each a whole array, or the rows and values of those that changed.

    Attributes
    ----------
    parts : list of list of str
        Names of files, ``[array]`` or ``[rows, values]``.
    best : int
        How many parts make the best.
    """

    parts: list[list[str]] = field(default_factory=list)
    best: int = 0

    def prune(self) -> None:
        """Forget what neither the best nor the live array is made of."""
        wholes = [position for position, part in enumerate(self.parts) if len(part) == 1]
        last = wholes[-1]
        if last >= self.best:
            first = max((at for at in wholes if at < self.best), default=self.best)
            self.parts = self.parts[first : self.best] + self.parts[last:]
        else:
            first = last
            self.parts = self.parts[first:]
        self.best -= first


class Checkpoint:
    """Directory of a training's state.

    Parameters
    ----------
    directory : Path
        Made by the first save.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._logs: dict[str, Log] = {}
        self._records: dict[str, tuple[int, str]] = {}
        self._saves, self._best_at = 0, -1
        self._begun = time.perf_counter()
        self._spent, self._cost = 0.0, 0.0

    def due(self, kept: Kept) -> bool:
        """Tell whether one more save stays within the time that saves may take."""
        cost = self._cost or sum(array.nbytes for array in kept.live.values()) / _SPEED
        return self._spent + cost <= GRACE + SHARE * (time.perf_counter() - self._begun)

    def save(self, kept: Kept, best_at: int, facts: Mapping[str, Any]) -> None:
        """Write what has changed since the last save.

        Parameters
        ----------
        kept : Kept
            Live arrays and best.
        best_at : int
            Changes whenever the best does.
        facts : mapping
            JSON values that `open` gives back.
        """
        started = time.perf_counter()
        self.directory.mkdir(parents=True, exist_ok=True)
        self._saves += 1
        for name, array in kept.live.items():
            log = self._logs.setdefault(name, Log())
            since = kept.since_written.get(name)
            if name != PASSING and (best_at != self._best_at or not log.parts):
                # Rows that changed since the best are among those that changed since the last save.
                self._add(log, f"{name}-{self._saves}-best", kept.best[name], since)
                log.best, since = len(log.parts), kept.since_best.get(name)
                if since is None and np.array_equal(array, kept.best[name]):
                    since = np.zeros(len(array), np.bool_)
            self._add(log, f"{name}-{self._saves}", array, since)
            log.prune()
        self._best_at = best_at
        self._seal(facts)
        kept.written()
        self._cost = time.perf_counter() - started
        self._spent += self._cost

    def _add(
        self, log: Log, name: str, array: NDArray[Any], changed: NDArray[np.bool_] | None
    ) -> None:
        """Add the rows that have changed, or the whole array where that is not much more."""
        parts = {name: array}
        if changed is not None and log.parts:
            rows = np.flatnonzero(changed).astype(np.int32)
            if not len(rows):
                return
            whole = max(position for position, part in enumerate(log.parts) if len(part) == 1)
            over = sum(self._records[file][0] for part in log.parts[whole + 1 :] for file in part)
            if over + len(rows) * (4 + array.nbytes // len(array)) <= _MOST_ROWS * array.nbytes:
                parts = {f"{name}-rows": rows, f"{name}-values": array[rows]}
        log.parts.append([f"{part}.npy" for part in parts])
        for part, values in parts.items():
            path = self.directory / f"{part}.npy"
            np.save(path, values, allow_pickle=False)
            self._records[path.name] = integrity.record(path)

    def _seal(self, facts: Mapping[str, Any]) -> None:
        named = {file for log in self._logs.values() for part in log.parts for file in part}
        self._records = {file: self._records[file] for file in sorted(named)}
        logs = {name: asdict(log) for name, log in self._logs.items()}
        state = {"saves": self._saves, "best_at": self._best_at, "logs": logs}
        whole = {**facts, "state": state, "files": self._records}
        integrity.write_manifest(self.directory, MANIFEST, whole, durable=False)
        for path in self.directory.glob("*.npy"):
            if path.name not in named:
                path.unlink()

    def open(self) -> dict[str, Any] | None:
        """Return the facts of the last save after a check of its files; None where there is none.

        Raises
        ------
        BadInput
            It was changed after it was written, or another version has written it.
        """
        if not (self.directory / MANIFEST).exists():
            return None
        facts = integrity.read_manifest(self.directory, MANIFEST, self.remedy)
        integrity.check_directory(self.directory, MANIFEST, facts["files"], self.remedy)
        with files.reading(self.directory / MANIFEST, self.remedy):
            self._records = {
                name: (size, digest) for name, (size, digest) in facts["files"].items()
            }
            state = facts.pop("state")
            self._saves, self._best_at = state["saves"], state["best_at"]
            self._logs = {name: Log(**log) for name, log in state["logs"].items()}
        return {name: value for name, value in facts.items() if name != "files"}

    def read(self, kept: Kept) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Put what was saved in the place of the arrays; yield what has another shape."""
        with files.reading(self.directory, self.remedy):
            for name, array in kept.live.items():
                log = self._logs[name]
                shape = load_array(self.directory / log.parts[0][0]).shape
                if shape != array.shape:
                    self._logs[name] = Log()
                    yield name, shape
                    continue
                if name in kept.best:
                    self._lay(kept.best[name], log.parts[: log.best])
                self._lay(array, log.parts)
        kept.resumed()

    def _lay(self, array: NDArray[Any], parts: list[list[str]]) -> None:
        for part in parts:
            values = [load_array(self.directory / file) for file in part]
            if len(values) == 1:
                array[...] = values[0]
            else:
                array[values[0]] = values[1]

    @property
    def remedy(self) -> str:
        """The last sentence of an error: how to go on without the files."""
        return f"Remove {self.directory}, and the training begins anew."
