"""A training by several workers, which sum up what they have changed: an experiment.

All workers begin a round with the same arrays. Each takes its own triples, drawn from all pairs
with a seed of its own, and writes the rows that it has changed, as differences. The driver adds
them in the order of the workers and writes the sums, with which all begin the next round::

    base += sum_w (arrays of worker w - base)

So the same seed gives the same bits, wherever and whenever the parts of a round are made. The sum
goes as far as all workers together: it diverges where they take too many triples without what the
others learn (`BOUND`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.parts import LOCAL, Stage, file_once, run_parts
from ssi_core.training.descend import SAMPLERS
from ssi_core.training.sgd import Sgd
from ssi_core.types import BadInput, Int32, Int64

BOUND = 0.13
"""Share of the training pairs that all workers together may take in a round.

Up to it four workers learn as one does on Wikispeedia, and diverge at twice as much. With more
pairs and a larger rate less was too much: rows of frequent words change in most triples.
"""

Begin = Callable[[], Sgd]
"""Begin a training on one thread: every process at the same arrays."""


def triples_of_round(
    pairs: int, workers: int, triples: int | None = None, bound: float = BOUND
) -> int:
    """Return the triples that each worker takes in a round: those asked for, or the most.

    Raises
    ------
    BadInput
        All workers together would take more than the bound, or one could not take any.

    >>> triples_of_round(1_000_000, workers=4)
    32500
    """
    most = int(bound * pairs / workers)
    if triples is None:
        triples = most
    if not 1 <= triples <= most:
        raise BadInput(
            f"{workers} workers with {triples:,} triples each in a round: expected 1 to {most:,}. "
            f"All together may take {bound:.0%} of the {pairs:,} training pairs; beyond it the sum "
            "of what they learn diverges. Take fewer triples, or fewer workers."
        )
    return triples


@dataclass(frozen=True)
class Share:
    """Part of a round: so many triples that one of several workers takes."""

    round: int
    worker: int
    workers: int
    triples: int


class _State:
    """The training in this process, and its arrays as a round begins."""

    def __init__(self, begin: Begin) -> None:
        self.trainee = begin()
        arrays = {n: one for n, one in self.trainee.arrays.items() if n != SAMPLERS}
        if any(one.dtype != np.float32 for one in arrays.values()):
            raise ValueError("workers sum up what they change in float32 alone")
        self.base, self.round = {n: one.copy() for n, one in arrays.items()}, 0

    def go_to(self, place: Path, number: int) -> None:
        """Take over what the rounds before this one have changed."""
        for earlier in range(self.round, number):
            for name, rows, values in _read(_sum_path(place, earlier)):
                self.base[name][rows] = self.trainee.arrays[name][rows] = values
        self.round = number

    def changes(self) -> Iterator[tuple[str, Int64, NDArray[np.float32]]]:
        """Yield arrays, their rows that have changed, and the differences; and undo these."""
        marks = self.trainee.changed(0)
        for name, before in self.base.items():
            now = self.trainee.arrays[name]
            rows = np.flatnonzero(marks.get(name, np.ones(len(now), np.bool_)))
            yield name, rows, now[rows] - before[rows]
            now[rows] = before[rows]


_states: dict[Path, _State] = {}
"""The last training that this process had a share in, by its directory."""


def take_share(share: Share, *, begin: Begin, place: Path) -> dict[str, float]:
    """Do a share, write what it has changed, and return the measures of its sweep."""
    state = _states.pop(place, None)
    if state is None or state.round > share.round:
        _states.clear()
        state = _State(begin)
    state.go_to(place, share.round)
    # No two shares of a training draw the same triples.
    state.trainee.reseed(1 + share.round * share.workers + share.worker)
    measures = dict(state.trainee.sweep(share.triples))
    _write(_path(place, share.round, share.worker), state.changes())
    _states[place] = state  # what failed has left nothing here
    return measures


class Workers:
    """A training of which workers take equal shares, round by round (a `descend.Trainee`).

    Its triples are those of all workers together. It has no checkpoint.

    Parameters
    ----------
    begin : callable
        Function of a module, or a `functools.partial` of one: begins the training.
    place : Path
        Empty directory that all workers see; it keeps what each round has changed.
    workers, triples : int
        Shares of a round, and triples of each; see `triples_of_round`.
    where, processes
        See `ssi_core.parts.run_parts`.

    Attributes
    ----------
    sent, received : list of int
        Bytes that all workers have written in each round, and that each has read after it.
    """

    def __init__(
        self,
        begin: Begin,
        place: Path,
        *,
        workers: int,
        triples: int,
        where: str = LOCAL,
        processes: int = 1,
    ) -> None:
        self._begun, self._place = begin(), place
        self._workers, self._triples = workers, triples
        self._where, self._processes = where, processes
        make = partial(take_share, begin=begin, place=place)
        begun = begin.func if isinstance(begin, partial) else begin
        self._stage: Stage[Share, dict[str, float]] = Stage(
            "rounds of a training", make, place, code=[Sgd, begun]
        )
        self.sent: list[int] = []
        self.received: list[int] = []

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays, without samplers: each share is seeded anew."""
        return {n: one for n, one in self._begun.arrays.items() if n != SAMPLERS}

    def reseed(self, triples: int) -> None:
        """Do nothing: each share is seeded by its number."""

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Take rounds until all workers together have so many triples; means of their measures."""
        measures: list[Mapping[str, float]] = []
        while triples > 0:
            each = min(self._triples, -(-triples // self._workers))
            measures += self._round(each)
            triples -= each * self._workers
        return {name: float(np.mean([one[name] for one in measures])) for name in measures[0]}

    def _round(self, triples: int) -> list[Mapping[str, float]]:
        number = len(self.sent)
        shares = [Share(number, w, self._workers, triples) for w in range(self._workers)]
        measures = {}
        with run_parts(self._stage, shares, self._where, processes=self._processes) as ended:
            for done in ended:
                measures[done.part.worker] = done.result()
        self._add(number)
        return [measures[worker] for worker in range(self._workers)]

    def _add(self, number: int) -> None:
        """Add what the shares of a round have changed, and write the sums."""
        paths = [_path(self._place, number, worker) for worker in range(self._workers)]
        marks = {name: np.zeros(len(array), np.bool_) for name, array in self.arrays.items()}
        for path in paths:
            for name, rows, change in _read(path):
                self.arrays[name][rows] += change
                marks[name][rows] = True
        rows_of = {name: np.flatnonzero(marked) for name, marked in marks.items()}
        sums = ((name, rows, self.arrays[name][rows]) for name, rows in rows_of.items())
        _write(_sum_path(self._place, number), sums)
        self.sent.append(sum(path.stat().st_size for path in paths))
        self.received.append(_sum_path(self._place, number).stat().st_size)
        for path in paths:
            path.unlink()

    def error(self) -> float:
        """Validation error now."""
        return self._begun.error()

    def observed(self) -> Mapping[str, float]:
        """Further measures now."""
        return self._begun.observed()


def _path(place: Path, number: int, worker: int) -> Path:
    return place / f"round-{number}-worker-{worker}.npz"


def _sum_path(place: Path, number: int) -> Path:
    return place / f"round-{number}.npz"


def _write(path: Path, changes: Iterable[tuple[str, Int64, NDArray[Any]]]) -> None:
    arrays: dict[str, Any] = {}
    for name, rows, values in changes:
        arrays |= {f"{name}.rows": rows.astype(np.int32), name: values}
    with file_once(path) as draft, draft.open("wb") as file:
        np.savez(file, **arrays)


def _read(path: Path) -> Iterator[tuple[str, Int32, NDArray[np.float32]]]:
    with np.load(path) as arrays:
        for name in arrays:
            if not name.endswith(".rows"):
                yield name, arrays[f"{name}.rows"], arrays[name]
