"""Search of the learning rate, and of other settings, on a small budget.

The paper takes the fixed rate with the lowest *training* error (section 2.3.1). Settings that a
larger training error may serve better (alpha, the spread of the start) are then compared by
validation error, each at its own best rate.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """One short training: its settings, and its errors (rank losses, 0..1) at the end."""

    settings: Mapping[str, Any]
    training: float
    validation: float


def search(
    grid: Mapping[str, Iterable[Any]],
    rates: Iterable[float],
    train: Callable[[Mapping[str, Any]], tuple[float, float]],
) -> tuple[Trial, list[Trial]]:
    """Try every setting of the grid with every rate; return the best trial and all of them.

    Parameters
    ----------
    grid : name -> values to try
    rates : learning rates to try
    train : settings, with the key "rate" among them -> (training error, validation error)

    Raises
    ------
    ValueError
        Every trial diverged.
    """
    trials, winners = [], []
    names = list(grid)
    for values in itertools.product(*grid.values()):
        settings = dict(zip(names, values, strict=True))
        tried = [Trial(s, *train(s)) for s in (settings | {"rate": rate} for rate in rates)]
        trials += tried
        winners.append(min(tried, key=lambda t: t.training))
        log.info("tried %s", winners[-1])
    best = min(winners, key=lambda t: t.validation)
    if not best.validation < float("inf"):
        raise ValueError(f"rates={list(rates)}: every training diverged; give lower ones")
    return best, trials
