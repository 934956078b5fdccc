"""Two sweeps in turn: a step of the one, then a step of the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ssi_core.kernels import jit


@cache
def alternating(first: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., None]:
    """Return ``sweep(one, other, steps)`` of two sweeps of `kernels.sweep.sweep_of`.

    ``one`` and ``other`` are their arguments but for the steps; see there. What the two share, such
    as an array of their parameters, each finds as the other has left it.
    """

    @jit
    def sweep(one: Any, other: Any, steps: int) -> None:
        parameters, data, work, n_documents, state, settings, totals = one
        further, others, scratch, n_others, other_state, other_settings, sums = other
        for _ in range(steps):
            first(parameters, data, work, n_documents, state, settings, 1, totals)
            second(further, others, scratch, n_others, other_state, other_settings, 1, sums)

    return sweep
