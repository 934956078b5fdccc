"""Limited-memory BFGS whose whole state is arrays, so that it goes on from a checkpoint.

Source: J. Nocedal and S. Wright, Numerical Optimization, 2006, algorithms 7.4 and 7.5. The line
search halves and doubles the step until it meets the weak Wolfe conditions (A. Lewis and M. Overton
2013), which keep the curvature above zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FALL, _FLATTER = 1e-4, 0.9
"""Share of the promised fall that a step must bring, and of the slope that it may leave."""
_TRIALS = 30
_FIRST = 0.01
"""Length of the first step, as a share of the length of the start."""


class Lbfgs:
    """Minimise a function of an array.

    Parameters
    ----------
    function : callable
        Point -> value and gradient.
    start : array
        First point; copied.
    memory : int
        Steps whose curvature is remembered.
    """

    def __init__(
        self,
        function: Callable[[NDArray[Any]], tuple[float, NDArray[Any]]],
        start: NDArray[Any],
        memory: int,
    ) -> None:
        self._function = function
        self.point = np.array(start, order="C")
        value, self._gradient = function(self.point)
        self._steps = np.zeros((memory, *start.shape), start.dtype)
        self._changes = np.zeros_like(self._steps)
        self._curvature = np.zeros(memory)
        self._value = np.full(1, value)
        self._taken = np.zeros(1, np.int64)

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays, which are changed in place: the whole state."""
        return {
            "point": self.point,
            "gradient": self._gradient,
            "steps": self._steps,
            "changes": self._changes,
            "curvature": self._curvature,
            "value": self._value,
            "taken": self._taken,
        }

    @property
    def value(self) -> float:
        """Value of the function at the point."""
        return float(self._value[0])

    def step(self) -> int:
        """Take one step; return how often the function was evaluated.

        Where no trial is lower the point stays, and what is remembered is forgotten.
        """
        evaluations = 0
        if not self._gradient.any():
            return evaluations
        direction = self._direction()
        slope = _dot(self._gradient, direction)
        low, high, length = 0.0, np.inf, 1.0
        for _ in range(_TRIALS):
            point = self.point + self.point.dtype.type(length) * direction
            value, gradient = self._function(point)
            evaluations += 1
            if not value <= self._value[0] + _FALL * length * slope:
                high = length
            elif _dot(gradient, direction) < _FLATTER * slope:
                low = length
            else:
                self._remember(point, gradient)
                self._value[0] = value
                return evaluations
            length = (low + high) / 2 if np.isfinite(high) else 2 * low
        self._taken[0] = 0
        return evaluations

    def _remember(self, point: NDArray[Any], gradient: NDArray[Any]) -> None:
        position = int(self._taken[0]) % len(self._steps)
        self._steps[position] = point - self.point
        self._changes[position] = gradient - self._gradient
        self._curvature[position] = _dot(self._steps[position], self._changes[position])
        self.point[...], self._gradient[...] = point, gradient
        self._taken += 1

    def _direction(self) -> NDArray[Any]:
        """Return minus the gradient, times the inverse of the remembered curvature."""
        taken, memory = int(self._taken[0]), len(self._steps)
        if taken == 0:
            lengths = np.linalg.norm(self.point), np.linalg.norm(self._gradient)
            first: NDArray[Any] = self._gradient * self.point.dtype.type(
                -_FIRST * lengths[0] / lengths[1]
            )
            return first
        newest_first = [n % memory for n in range(taken - 1, max(-1, taken - 1 - memory), -1)]
        direction, shares = -self._gradient, {}
        for i in newest_first:
            shares[i] = _dot(self._steps[i], direction) / self._curvature[i]
            direction -= direction.dtype.type(shares[i]) * self._changes[i]
        last = newest_first[0]
        scale = self._curvature[last] / _dot(self._changes[last], self._changes[last])
        direction *= direction.dtype.type(scale)
        for i in reversed(newest_first):
            share = shares[i] - _dot(self._changes[i], direction) / self._curvature[i]
            direction += direction.dtype.type(share) * self._steps[i]
        return direction


def _dot(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float(np.vdot(one, other))
