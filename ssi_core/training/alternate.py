"""Descent on two objectives in turn (journal paper, section 2.4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import sweep as kernel
from ssi_core.kernels.alternate import alternating
from ssi_core.training.sgd import Sgd


class Alternating:
    """A step of one training, then a step of another, whose parameters may share arrays.

    Both are of one thread; what is judged is the first (a `descend.Trainee`).
    """

    def __init__(self, first: Sgd, second: Sgd) -> None:
        self.first, self.second = first, second
        self._sweep = alternating(first._sweep, second._sweep)

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays of both; what they share is there once."""
        arrays = dict(self.first.arrays)
        shared = [id(array) for array in arrays.values()]
        for name, array in self.second.arrays.items():
            if id(array) not in shared:
                arrays[f"second_{name}"] = array
        return arrays

    def reseed(self, triples: int) -> None:
        """Seed both samplers anew."""
        self.first.reseed(triples)
        self.second.reseed(triples)

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Draw so many triples of each; mean hinge and share of violated ones of both."""
        totals = np.zeros((2, 8))
        self._sweep(_arguments(self.first, totals[0]), _arguments(self.second, totals[1]), triples)
        drawn = np.maximum(1, totals[:, kernel.TRIPLES])
        hinge = totals[:, kernel.HINGE] / drawn
        violated = totals[:, kernel.VIOLATED] / drawn
        return {
            "train/hinge": float(hinge[0]),
            "train/violated": float(violated[0]),
            "train/skipped": float(totals[0, kernel.SKIPPED]),
            "train/second_hinge": float(hinge[1]),
            "train/second_violated": float(violated[1]),
        }

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
