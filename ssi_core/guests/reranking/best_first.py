"""Selection of features: small subsets, found by best-first search, each made one feature.

Dang and Croft, Feature selection for document ranking using best first search and coordinate
ascent (SIGIR workshop on feature generation and selection 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import NamedTuple

import numpy as np

from ssi_core.guests.reranking.coordinate_ascent import Climb, CoordinateAscent
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import Float64

Node = frozenset[int]
"""Columns of a subset of features."""


class Subset(NamedTuple):
    """A subset of features, and its ranker.

    Attributes
    ----------
    features : tuple of int
        Columns, ascending.
    weights : float64 (features,)
        Of the linear ranker that coordinate ascent has trained on them.
    value : float
        Measure of that ranker on the training queries.
    trained : int
        Subsets for which a ranker was trained until this one was found.
    """

    features: tuple[int, ...]
    weights: Float64
    value: float
    trained: int


@dataclass(frozen=True)
class BestFirst:
    """Best-first search over subsets of at most ``size`` features (Table 1 of the paper).

    A node is a subset; its neighbours have one feature more or less. The search begins at a random
    node, and always goes on from the best node that has not been left yet, to those of its
    neighbours that were not visited before. It ends after ``rounds`` nodes in a row that are not
    better than the best one.

    Parameters
    ----------
    climb : Climb
        Queries and measure; trains the ranker of a node.
    size : int
        Features of a subset at most.
    rng : Generator
        Of the first node and of the starts of coordinate ascent.
    rounds : int
        R of the paper.
    restarts : int
        Starts of coordinate ascent.
    """

    climb: Climb
    size: int
    rng: np.random.Generator
    rounds: int = 5
    restarts: int = 5
    trained: dict[Node, tuple[Float64, float]] = field(default_factory=dict)

    def subset(self, pool: Sequence[int]) -> Subset:
        """Return the best subset of some features that the search finds."""
        first = self._random(pool)
        visited, waiting = {first}, {first: self._value(first)}
        before = len(self.trained) - 1
        best, unchanged = first, -1
        while waiting:
            # Of equal nodes the one that was visited first, as Python's dict keeps the order.
            node = max(waiting, key=waiting.__getitem__)
            value = waiting.pop(node)
            if unchanged < 0 or value > self._value(best):
                best, unchanged = node, 0
            else:
                unchanged += 1
            if unchanged >= self.rounds:
                break
            for other in self._neighbours(node, pool):
                if other not in visited:
                    visited.add(other)
                    waiting[other] = self._value(other)
        weights, value = self.trained[best]
        return Subset(tuple(sorted(best)), weights, value, len(self.trained) - before)

    def _random(self, pool: Sequence[int]) -> Node:
        """Draw a node, all alike."""
        counts = np.array([comb(len(pool), n) for n in range(1, self.size + 1)], np.float64)
        number = 1 + int(self.rng.choice(len(counts), p=counts / counts.sum()))
        return frozenset(self.rng.choice(np.asarray(pool), number, replace=False).tolist())

    def _neighbours(self, node: Node, pool: Sequence[int]) -> Iterator[Node]:
        if len(node) > 1:
            yield from (node - {feature} for feature in sorted(node))
        if len(node) < self.size:
            yield from (node | {feature} for feature in pool if feature not in node)

    def _value(self, node: Node) -> float:
        """Return the measure of the ranker of a node, which is trained once."""
        if node not in self.trained:
            self.trained[node] = self._train(sorted(node))
        return self.trained[node][1]

    def _train(self, features: Sequence[int]) -> tuple[Float64, float]:
        climb, width = self.climb.of(features), len(features)
        best: tuple[Float64, float] | None = None
        # A single feature can only be turned upside down, from whatever weight.
        for start in range(self.restarts if width > 1 else 1):
            first = self.rng.random(width) if start else np.ones(width)
            ascent = climb.up(first, self.rng.permutation(width).tolist())
            if best is None or ascent[1] > best[1]:
                best = ascent
        assert best is not None
        return best


def partition(
    train: PairFeatures,
    size: int,
    *,
    measure: str = "letor_ndcg_at_5",
    most: int | None = None,
    rounds: int = 5,
    restarts: int = 5,
    seed: int = 0,
) -> list[Subset]:
    """Take the best subset out of the pool of features, again and again until nothing is left.

    Parameters
    ----------
    train : PairFeatures
        Pairs to learn from.
    size : int
        Features of a subset at most.
    measure : str
        Measure that the rankers of subsets climb, and by which subsets are compared.
    most : int, optional
        Subsets at most; the first ones do not depend on it.
    rounds, restarts : int
        See `BestFirst`.
    seed : int
        Of every random choice.

    Returns
    -------
    list of Subset
        In the order in which they were found; no feature is in two.
    """
    inner = CoordinateAscent(optimise=measure)
    climb = Climb(train, measure, inner.tolerance, inner.passes)
    search = BestFirst(climb, size, np.random.default_rng([seed, size]), rounds, restarts)
    pool = list(range(len(train.names)))
    subsets: list[Subset] = []
    while pool and (most is None or len(subsets) < most):
        subsets.append(search.subset(pool))
        pool = [feature for feature in pool if feature not in subsets[-1].features]
    return subsets


def best_alone(train: PairFeatures, measure: str, most: int) -> list[Subset]:
    """Return the features that are best alone, as subsets of one (best@m of the paper)."""
    climb = Climb(train, measure, 0.0, 1)
    ones = np.ones(1)
    values = [climb.of([feature]).value(ones) for feature in range(len(train.names))]
    order = np.argsort(-np.array(values), kind="stable")[:most]
    return [Subset((int(n),), ones, values[n], 0) for n in order]


def combination(subsets: Sequence[Subset], features: int) -> Float64:
    """Return what makes new features of the old ones, float64 (features, subsets).

    A new feature is the score of the ranker of a subset, a weighted sum of its features.
    """
    matrix = np.zeros((features, len(subsets)))
    for column, subset in enumerate(subsets):
        matrix[list(subset.features), column] = subset.weights
    return matrix
