"""The arrays of a training and the best that they were, of which only changed rows are copied."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.sparse import floats
from ssi_core.kernels.training.changes import copy_rows, within

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Marks: TypeAlias = Mapping[str, NDArray[np.bool_]]
"""Name of an array -> rows that may have changed; an array without marks may have anywhere."""

PASSING = "theta"
"""Name of a large array that only the next sweep reads: in a checkpoint, but no part of the best.

It may lie in a file, and is not held in memory once more."""


class Holder(Protocol):
    """A training with live arrays, which are changed in place."""

    @property
    def arrays(self) -> Arrays: ...  # noqa: D102


@runtime_checkable
class Marking(Protocol):
    """A training that knows which rows its sweeps change."""

    def changed(self) -> Marks:
        """Return the rows that may have changed since the last call, of large arrays."""
        ...


class Kept:
    """The live arrays of a training, a copy of them when they were the best, and what differs.

    Parameters
    ----------
    trainee : Holder
        At its start, which is the best so far. Of one that is `Marking`, rows that no sweep has
        changed are neither looked at nor copied.

    Attributes
    ----------
    best : mapping
        Name -> array, without `PASSING`.
    since_best, since_written : Marks
        Rows of the live arrays that may differ from the best, and from a checkpoint.
    """

    def __init__(self, trainee: Holder) -> None:
        self._trainee = trainee
        self.best = {n: array.copy() for n, array in trainee.arrays.items() if n != PASSING}
        self._latest: Marks = {}
        self.since_best, self.since_written = self._changed(), self._changed()

    @property
    def live(self) -> Arrays:
        """The arrays as they are now."""
        return self._trainee.arrays

    def _changed(self) -> Marks:
        return self._trainee.changed() if isinstance(self._trainee, Marking) else {}

    def look(self) -> None:
        """Learn what the last sweep has changed."""
        self._latest = self._changed()
        for name, marks in self._latest.items():
            self.since_best[name] |= marks
            self.since_written[name] |= marks

    def converges(self, bound: float) -> bool:
        """Tell whether the numbers that the last sweep has changed are within a bound."""
        return in_bounds(self.live, bound, self._latest)

    def improve(self) -> None:
        """Take the live arrays for the best."""
        copy(self.live, self.best, self.since_best)
        _clear(self.since_best)

    def restore(self, but: Collection[str] = ()) -> None:
        """Put the best in the place of the live arrays, but for some."""
        best = {name: array for name, array in self.best.items() if name not in but}
        copy(best, self.live, self.since_best)
        for name, marks in self.since_best.items():
            self.since_written[name] |= marks
        _clear(self.since_best)

    def resumed(self) -> None:
        """Learn that a checkpoint was read: anything may differ from the best."""
        for marks in self.since_best.values():
            marks[:] = True
        self.written()

    def written(self) -> None:
        """Learn that the live arrays were written."""
        _clear(self.since_written)


def in_bounds(arrays: Arrays, bound: float, marks: Marks) -> bool:
    """Tell whether all floats, in marked arrays those of marked rows, are within a bound."""
    for name, array in arrays.items():
        half = array.dtype == np.uint16
        if name == PASSING or not (half or array.dtype.kind == "f") or not array.size:
            continue
        if name in marks:
            if not within(_as_matrix(array), marks[name], np.float32(bound)):
                return False
        elif half:
            if not np.isfinite(floats(array)).all():
                return False
        # NaN is neither below nor above a bound.
        elif not (array.max() < bound and array.min() > -bound):
            return False
    return True


def copy(source: Arrays, target: Arrays, marks: Marks) -> None:
    """Copy the arrays that both have; of marked ones the marked rows."""
    for name in source.keys() & target.keys():
        if name in marks:
            copy_rows(_as_matrix(source[name]), _as_matrix(target[name]), marks[name])
        else:
            target[name][...] = source[name]


def _as_matrix(array: NDArray[Any]) -> NDArray[Any]:
    return array.reshape(len(array), -1)


def _clear(marks: Marks) -> None:
    for one in marks.values():
        one[:] = False
