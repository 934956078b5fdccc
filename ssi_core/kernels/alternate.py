"""Sweeps in turn: a step of the first, then a step of the next, to the last one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ssi_core.kernels import jit, part


@cache
def alternating(*sweeps: Callable[..., Any]) -> Callable[..., None]:
    """Return ``sweep(arguments, steps)`` of sweeps of `kernels.sweep.sweep_of`.

    ``arguments`` is a tuple with the arguments of each sweep but for the steps; see there. What
    some of them share, such as an array of their parameters, each finds as the one before has left
    it.
    """
    one_of_each = _one_of_each(sweeps)

    @jit
    def sweep(arguments: Any, steps: int) -> None:
        for _ in range(steps):
            one_of_each(arguments)

    return sweep


def _one_of_each(sweeps: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """Return ``step(arguments)``: a step of each sweep; numba knows the type of each at compile."""
    first, rest = sweeps[0], sweeps[1:]

    @part
    def last(arguments: Any) -> None:
        parameters, data, work, n_documents, state, settings, totals = arguments[0]
        first(parameters, data, work, n_documents, state, settings, 1, totals)

    if not rest:
        return last
    others = _one_of_each(rest)

    @part
    def step(arguments: Any) -> None:
        last(arguments)
        others(arguments[1:])

    return step
