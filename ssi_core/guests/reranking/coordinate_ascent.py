"""Coordinate ascent: a linear ranker whose weights climb a measure of rankings, one at a time.

Metzler and Croft, Linear feature-based models for information retrieval (Information Retrieval 10,
2007); the number of restarts from Dang and Croft (see `ranknet`), section 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ssi_core.bounds import Share
from ssi_core.estimator import Arrays
from ssi_core.guests.reranking.base import Choice, Linear, Rounds, Seed
from ssi_core.guests.reranking.kernels.rank_lists import try_steps
from ssi_core.guests.reranking.measures import Grades, gain_rank, measure_named, require_measure
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import Float64

STEPS = tuple(sign * 0.001 * 2.0**power for power in range(15) for sign in (1, -1))
"""Changes of a weight that are tried, of weights whose absolute values sum to 1."""


class Climb:
    """Climbs a measure from given weights; holds what all starts share.

    Parameters
    ----------
    train : PairFeatures
        Pairs to learn from.
    measure : str
        Measure to climb; see `measures.measure_named`.
    tolerance : float
        Gain of a pass over all features below which a climb ends.
    passes : int
        Passes at most.
    """

    def __init__(self, train: PairFeatures, measure: str, tolerance: float, passes: int) -> None:
        firsts = np.minimum.reduceat(train.grade, train.start[:-1])
        lasts = np.maximum.reduceat(train.grade, train.start[:-1])
        # The other queries have one value in every order.
        used = train.take(np.flatnonzero(lasts > firsts))
        self._queries = len(train.queries)
        self._columns = np.ascontiguousarray(used.values.T)
        self._grades = Grades.of(used)
        self._tolerance, self._passes = tolerance, passes
        self._measure, self._rank = measure_named(measure), gain_rank(measure)
        self._order = np.arange(len(used))

    def of(self, features: Sequence[int]) -> Climb:
        """Return a climb of the same queries on some of the features."""
        other = copy(self)
        other._columns = np.ascontiguousarray(self._columns[list(features)])
        return other

    def value(self, weights: Float64) -> float:
        """Return the mean of the measure over the queries; those of one grade count 0."""
        nothing = np.zeros(len(self._order))
        return float(self._values(weights @ self._columns, nothing, np.zeros(1))[0])

    def up(self, weights: Float64, features: Sequence[int]) -> tuple[Float64, float]:
        """Return weights from which no single step goes up, and their value.

        Parameters
        ----------
        weights : float64 (features,)
            Where the climb begins.
        features : sequence of int
            Columns that may have a weight, in the order of their turns.
        """
        weights = weights / np.abs(weights).sum()
        value = self.value(weights)
        for _ in range(self._passes):
            before = value
            for feature in features:
                weights, value = self._turn(weights, feature, value)
            if value - before < self._tolerance:
                break
        return weights, value

    def _values(self, scores: Float64, column: Float64, steps: Float64) -> Float64:
        """Return the value of each step of a weight."""
        values = np.empty(len(steps))
        grades = self._grades
        if self._rank is not None:
            arrays = grades.start, grades.gain, grades.ideal
            discount = np.maximum(1.0, np.log2(np.arange(1, self._rank + 1)))
            room = np.empty(self._rank), np.empty(self._rank, np.int64)
            try_steps(scores, column, steps, *arrays, discount, *room, values)
            return values / self._queries
        for n, step in enumerate(steps):
            grades.sort(scores + step * column, self._order)
            values[n] = self._measure(grades, self._order).sum()
        return values / self._queries

    def _turn(self, weights: Float64, feature: int, value: float) -> tuple[Float64, float]:
        steps = np.array([step for step in (-weights[feature], *STEPS) if step])
        values = self._values(weights @ self._columns, self._columns[feature], steps)
        best = int(np.argmax(values))
        if values[best] <= value:
            return weights, value
        moved = weights.copy()
        moved[feature] += steps[best]
        size = np.abs(moved).sum()
        if size == 0:
            return weights, value
        return moved / size, float(values[best])


@dataclass(frozen=True)
class CoordinateAscent(Linear):
    """``s(x) = w . x``; a weight at a time takes the step that raises the measure most.

    Steps are ``+-.001 * 2^j`` and the one to 0; after a step the weights are divided by the sum of
    their absolute values, which changes no order. The first start has equal weights, the others
    random ones, and the features take turns in a random order. Of the ends of all starts that with
    the best validation value is kept; without validation queries that with the best training value.

    Parameters
    ----------
    optimise : str
        Measure of the training queries that is climbed.
    restarts : int
        Starts.
    tolerance : float
        A climb ends after a pass over all features that gains less.
    passes : int
        Passes of a climb at most.
    seed : int
        Seed of the starts and of the order of the features.
    """

    name: ClassVar[str] = "coordinate_ascent"
    optimise: str = "letor_map"
    restarts: Annotated[int, Field(ge=1, le=1000)] = 5
    tolerance: Share = 0.001
    passes: Rounds = 25
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Refuse a measure that is not known."""
        super().__post_init__()
        require_measure("optimise", self.optimise)

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Climb from each start, and choose."""
        climb = Climb(train, self.optimise, self.tolerance, self.passes)
        rng, features = np.random.default_rng([self.seed]), train.values.shape[1]
        choice = None if valid is None else Choice(self.measure, valid)
        best, top, values = np.zeros(features), -1.0, []
        for start in range(self.restarts):
            first = np.asarray(rng.random(features) if start else np.ones(features), np.float64)
            weights, value = climb.up(first, rng.permutation(features).tolist())
            values.append(value)
            if choice is None or valid is None:
                better = value > top
            else:
                better = choice.offer(valid.values @ weights)
            if better:
                best, top = weights, value
        facts: dict[str, Any] = {"train": top, "train_of_starts": values}
        if choice is not None:
            facts |= {"start": choice.best + 1, "chosen_value": choice.value}
        return {"weights": best}, facts
