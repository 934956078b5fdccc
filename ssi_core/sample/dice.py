"""Cheap seeded draws: one stream per (seed, purpose, number), whatever was drawn before."""

from __future__ import annotations

from collections.abc import Sequence
from threading import local
from typing import TypeVar

import numpy as np

T = TypeVar("T")
_BLOCK = 256
_PART = 64
_WORDS = 4
"""Numbers that the generator makes of one value of its counter."""


class _Generator(local):
    """The one generator of a thread; to set its state costs a tenth of making another."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(0)
        self._uniform = np.random.Generator(self._bits)
        self._state = self._bits.state

    def numbers(self, key: tuple[int, int], start: int) -> list[float]:
        """Return `_PART` numbers of a stream from one of them, a multiple of `_WORDS`, on."""
        self._state["state"]["key"][:] = key
        self._state["state"]["counter"][0] = start // _WORDS
        self._bits.state = self._state
        numbers: list[float] = self._uniform.random(_PART).tolist()
        return numbers


_GENERATOR = _Generator()


class Dice:
    """Draws from a counter-based generator; streams of different keys are independent.

    A scalar draw from a numpy generator costs as much as a hundred from a list, so uniform numbers
    are taken many at once. A stream is blocks of numbers, each from its end to its beginning; of a
    block only the parts are made that are drawn, as most streams are short.
    """

    __slots__ = ("_key", "_left", "_start")

    def __init__(self, seed: int, purpose: int, number: int = 0) -> None:
        self._key = (seed, (purpose << 40) + number)
        self._start = -_BLOCK
        self._left: list[float] = []

    def uniform(self) -> float:
        """Return a number in [0, 1)."""
        try:
            return self._left.pop()
        except IndexError:
            self._take()
            return self._left.pop()

    def _take(self) -> None:
        # After the first part of a block comes the last of the next one.
        self._start += 2 * _BLOCK - _PART if self._start % _BLOCK == 0 else -_PART
        self._left = _GENERATOR.numbers(self._key, self._start)

    def chance(self, probability: float) -> bool:
        """Say yes with a probability."""
        return self.uniform() < probability

    def below(self, bound: int) -> int:
        """Return an integer in [0, bound)."""
        return int(self.uniform() * bound)

    def pick(self, items: Sequence[T]) -> T:
        """Return one item, all alike."""
        return items[int(self.uniform() * len(items))]

    def skewed_below(self, bound: int, power: float) -> int:
        """Return an integer in [0, bound); a larger ``power`` prefers the small ones more."""
        return int(bound * self.uniform() ** power)

    def skewed(self, items: Sequence[T], power: float) -> T:
        """Return one item, the first preferred as by `skewed_below`."""
        return items[int(len(items) * self.uniform() ** power)]

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
            other = int(self.uniform() * (last + 1))
            order[last], order[other] = order[other], order[last]
        return order
