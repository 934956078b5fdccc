"""Settings that differ from the first in one thing: what each thing is worth, by few trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Settings: TypeAlias = Mapping[str, Any]
Factors: TypeAlias = Sequence[Sequence[Settings]]
"""Of each thing its values, and of each value the settings that it stands for."""

Point: TypeAlias = tuple[int, ...]
"""Of each factor the number of its value."""


def star(sizes: Sequence[int]) -> list[Point]:
    """Return the first values of all, then each other value in the place of a first one.

    The second values of all factors come before the third.

    Examples
    --------
    >>> star([2, 3])
    [(0, 0), (1, 0), (0, 1), (0, 2)]
    """
    first = (0,) * len(sizes)
    points = [first]
    for value in range(1, max(sizes)):
        points += [_with(first, n, value) for n, size in enumerate(sizes) if value < size]
    return points


def best_of_each(means: Mapping[Point, float], allowed: Mapping[int, Sequence[int]]) -> Point:
    """Return the best value of each factor, by the means of a star or of a part of it.

    Parameters
    ----------
    means : mapping
        Point -> mean, the larger the better; the first point is among them.
    allowed : mapping
        Factor -> values to choose from, at least one of which was measured.

    Examples
    --------
    >>> best_of_each({(0, 0): 0.1, (1, 0): 0.3, (0, 1): 0.2, (0, 2): 0.0}, {})
    (1, 1)
    """
    best = first = (0,) * len(next(iter(means)))
    for n in range(len(first)):
        along = {p[n]: mean for p, mean in means.items() if _with(p, n, 0) == first}
        values = [value for value in along if value in allowed.get(n, along)]
        best = _with(best, n, max(values, key=along.__getitem__))
    return best


def joined(factors: Factors, point: Point) -> Settings:
    """Return the settings that the values of a point stand for together."""
    values = (factor[value] for factor, value in zip(factors, point, strict=True))
    return {name: value for settings in values for name, value in settings.items()}


def _with(point: Point, factor: int, value: int) -> Point:
    return (*point[:factor], value, *point[factor + 1 :])
