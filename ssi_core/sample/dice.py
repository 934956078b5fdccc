"""Cheap seeded draws: one stream per (seed, purpose, number), whatever was drawn before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
_BLOCK = 256


class Dice:
    """Draws from a counter-based generator; streams of different keys are independent.

    A scalar draw from a numpy generator costs as much as a hundred from a list, so uniform numbers
    are taken in blocks.
    """

    def __init__(self, seed: int, purpose: int, number: int = 0) -> None:
        key = np.array([seed, (purpose << 40) + number], dtype=np.uint64)
        self._generator = np.random.Generator(np.random.Philox(key=key))
        self._block: list[float] = []

    def uniform(self) -> float:
        """Return a number in [0, 1)."""
        if not self._block:
            self._block = self._generator.random(_BLOCK).tolist()
        return self._block.pop()

    def chance(self, probability: float) -> bool:
        """Say yes with a probability."""
        return self.uniform() < probability

    def below(self, bound: int) -> int:
        """Return an integer in [0, bound)."""
        return int(self.uniform() * bound)

    def pick(self, items: Sequence[T]) -> T:
        """Return one item, all alike."""
        return items[self.below(len(items))]

    def skewed_below(self, bound: int, power: float) -> int:
        """Return an integer in [0, bound); a larger ``power`` prefers the small ones more."""
        return int(bound * self.uniform() ** power)

    def skewed(self, items: Sequence[T], power: float) -> T:
        """Return one item, the first preferred as by `skewed_below`."""
        return items[self.skewed_below(len(items), power)]

    def weighted(self, weights: Sequence[float]) -> int:
        """Return a position with the given probabilities, which sum to 1."""
        left = self.uniform()
        for position, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return position
        return len(weights) - 1

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in a random order."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
