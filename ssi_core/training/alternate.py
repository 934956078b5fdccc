"""Descent on several objectives in turn (journal paper, section 2.4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import sweep as kernel
from ssi_core.kernels.alternate import alternating
from ssi_core.training.sgd import Sgd


class Alternating:
    """A step of each training in turn; their parameters may share arrays (a `descend.Trainee`).

    Parameters
    ----------
    first : the training that is judged
    others : name -> training; the name begins those of its arrays and measures

    All are of one thread.
    """

    def __init__(self, first: Sgd, others: Mapping[str, Sgd]) -> None:
        self.first, self.others = first, others
        self._all = {"": first} | {f"{name}_": sgd for name, sgd in others.items()}
        self._sweep = alternating(*(sgd._sweep for sgd in self._all.values()))

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays of all; what they share is there once."""
        arrays: dict[str, NDArray[Any]] = {}
        for prefix, sgd in self._all.items():
            shared = {id(array) for array in arrays.values()}
            new = {name: array for name, array in sgd.arrays.items() if id(array) not in shared}
            arrays |= {f"{prefix}{name}": array for name, array in new.items()}
        return arrays

    def reseed(self, triples: int) -> None:
        """Seed all samplers anew."""
        for sgd in self._all.values():
            sgd.reseed(triples)

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Draw so many triples of each; mean hinge and share of violated ones of each."""
        totals = np.zeros((len(self._all), 8))
        arguments = zip(self._all.values(), totals, strict=True)
        self._sweep(tuple(_arguments(sgd, row) for sgd, row in arguments), triples)
        measures = {"train/skipped": float(totals[0, kernel.SKIPPED])}
        for prefix, row in zip(self._all, totals, strict=True):
            drawn = max(1.0, row[kernel.TRIPLES])
            measures[f"train/{prefix}hinge"] = float(row[kernel.HINGE] / drawn)
            measures[f"train/{prefix}violated"] = float(row[kernel.VIOLATED] / drawn)
        return measures

    def error(self) -> float:
        """Validation error of the first."""
        return self.first.error()

    def observed(self) -> Mapping[str, float]:
        """What the first observes."""
        return self.first.observed()


def _arguments(sgd: Sgd, totals: NDArray[np.float64]) -> tuple[Any, ...]:
    """Arguments of a sweep on one thread, but for the steps."""
    return (
        sgd.parameters,
        sgd._data,
        sgd._work[0],
        sgd._n_documents,
        sgd._states[0],
        sgd._settings,
        totals,
    )
