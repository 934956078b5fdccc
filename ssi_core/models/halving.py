"""Successive halving: many trainings begin, few go on (Jamieson and Talwalkar 2016)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

FACTOR = 3
"""Each round keeps one of so many trainings, and gives it so many times the triples."""


def halve(
    trainings: int, train: Callable[[int, int], tuple[float, int]], *, first: int, budget: int
) -> tuple[int | None, int]:
    """Return the training that is left after the rounds, and the triples that all have drawn.

    Parameters
    ----------
    trainings : int
        Trainings that are begun with, or as many as the budget has for the first round, but one
        at least.
    train : callable
        ``train(i, triples)`` goes on with training i until it has drawn so many triples, and
        returns its score and how many it has drawn; a score that is not finite ends it.
    first : int
        Triples of each training in the first round.
    budget : int
        Triples of all trainings together, at most.

    Examples
    --------
    >>> halve(4, lambda i, triples: (i, triples), first=10, budget=100)
    (3, 40)
    """
    left = list(range(max(1, min(trainings, budget // first))))
    drawn = dict.fromkeys(left, 0)
    triples = min(first, budget)
    while left:
        scores = {}
        for number in left:
            scores[number], drawn[number] = train(number, triples)
        finite = [number for number in left if np.isfinite(scores[number])]
        finite.sort(key=lambda number: -scores[number])
        if len(left) == 1 or len(finite) < 2:
            left = finite
            break
        triples *= FACTOR
        room = budget - sum(drawn.values())
        left = finite[: max(1, min(len(left) // FACTOR, room // (triples - triples // FACTOR)))]
        if len(left) == 1:
            break
    return (left[0] if left else None), sum(drawn.values())
