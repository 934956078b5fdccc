"""RankRLS and greedy RankRLS: least squares on the differences of grades within a query.

Pahikkala, Airola, Naula and Salakoski, Greedy RankRLS: a Linear Time Algorithm for Learning Sparse
Ranking Models (SIGIR Workshop on Feature Generation and Selection for Information Retrieval 2010).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from ssi_core.bounds import Positive, Values
from ssi_core.estimator import Arrays
from ssi_core.guests.reranking.base import Choice, Linear
from ssi_core.guests.reranking.kernels.greedy_rls import add_feature, try_features
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import Float64, Int64

GREEDY_GRID = tuple(2.0**power for power in range(11))
"""Values of lambda of greedy RankRLS: 2^0 to 2^10."""
GRID = tuple(2.0**power for power in range(-10, 11))
"""Values of lambda of RankRLS. The paper does not print them; on MQ2008 its values follow from a
grid that goes below 2^0: fold 2 takes the smallest lambda."""


def centred(values: Float64, start: Int64) -> Float64:
    """Return values less their mean over the rows of each query."""
    sizes = np.diff(start)
    means: Float64 = np.add.reduceat(values, start[:-1], axis=0)
    means /= sizes.reshape(-1, *[1] * (values.ndim - 1))
    apart: Float64 = values - np.repeat(means, sizes, axis=0)
    return apart


def leave_query_out(values: Float64, grade: Float64, start: Int64, penalty: float) -> Float64:
    """Return the residuals of each query under the ranker that was trained without that query.

    Parameters
    ----------
    values : float64 (pairs, features)
        Centred within queries, as ``grade``.
    grade : float64 (pairs,)
        Grades, less the mean of their query.
    start : int64 (queries + 1,)
        The pairs of query i are ``start[i]:start[i + 1]``.
    penalty : float
        lambda.

    Returns
    -------
    float64 (pairs,)
        ``y_Q - X_Q w`` with ``w = (X'X - X_Q'X_Q + lambda I)^-1 (X'y - X_Q'y_Q)``.
    """
    features = values.shape[1]
    gram = values.T @ values + penalty * np.eye(features)
    right = values.T @ grade
    residual = np.empty(len(grade))
    for first, last in pairwise(start):
        x, y = values[first:last], grade[first:last]
        residual[first:last] = y - x @ np.linalg.solve(gram - x.T @ x, right - x.T @ y)
    return residual


@dataclass(frozen=True)
class RankRls(Linear):
    """Regularised least squares on pairs: ``sum_Q 1/(2|Q|) sum_ij (y_i - y_j - w.(x_i - x_j))^2``.

    Plus ``lambda |w|^2`` (equation 3 of the paper). With values and grades less their means within
    each query, ``w = (X'X + lambda I)^-1 X'y``. lambda is chosen by validation; without validation
    queries by the rankings of each training query that was left out (equation 7).

    Parameters
    ----------
    lambdas : tuple of float
        Penalties to choose from.
    """

    name: ClassVar[str] = "rankrls"
    lambdas: Values[Positive] = GRID

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Solve for each lambda, and choose."""
        values = centred(train.values, train.start)
        grade = centred(train.grade.astype(np.float64), train.start)
        spectrum, basis = np.linalg.eigh(values.T @ values)
        right = basis.T @ (values.T @ grade)
        solutions = [basis @ (right / (np.maximum(spectrum, 0) + one)) for one in self.lambdas]
        choice = Choice(self.measure, train if valid is None else valid)
        for penalty, weights in zip(self.lambdas, solutions, strict=True):
            if valid is None:
                choice.offer(grade - leave_query_out(values, grade, train.start, penalty))
            else:
                choice.offer(valid.values @ weights)
        facts = {"lambda": self.lambdas[choice.best], "chosen_value": choice.value}
        return {"weights": solutions[choice.best]}, facts


class Step(NamedTuple):
    """Greedy RankRLS after one more feature.

    Attributes
    ----------
    feature : int
        Column that was added.
    weights : float64 (features,)
        Solution on the features so far; 0 for all others.
    residual : float64 (pairs,)
        Leave-query-out residuals of that solution.
    """

    feature: int
    weights: Float64
    residual: Float64


def greedy_path(train: PairFeatures, penalty: float, most: int) -> Iterator[Step]:
    """Add features one at a time, each the one that lowers the leave-query-out error most.

    Algorithm 1 of the paper, corrected (`kernels.greedy_rls.add_feature`): O(most x pairs x
    features) time, O(pairs x features) memory. Of features with equal errors the first is taken.

    Parameters
    ----------
    train : PairFeatures
        Pairs to learn from.
    penalty : float
        lambda.
    most : int
        Features to add, at most all.
    """
    values = centred(train.values, train.start)
    grade = centred(train.grade.astype(np.float64), train.start)
    caches, held = values / penalty, values.copy()
    dual, residual = grade / penalty, grade.copy()
    features = values.shape[1]
    free = np.ones(features, bool)
    sums, errors = np.empty((4, features)), np.empty(features)
    selected: list[int] = []
    for _ in range(min(most, features)):
        scale = 1 / (1 + np.einsum("pf,pf->f", values, caches))
        step = scale * (grade @ caches)
        try_features(caches, held, dual, residual, train.start, scale, step, sums, errors)
        best = int(np.argmin(np.where(free, errors, np.inf)))
        change = scale[best] * (values[:, best] @ caches)
        add_feature(
            caches, held, dual, residual, train.start, best, scale[best], step[best], change
        )
        free[best] = False
        selected.append(best)
        weights = np.zeros(features)
        weights[selected] = values[:, selected].T @ dual
        yield Step(best, weights, residual.copy())


@dataclass(frozen=True)
class GreedyRankRls(Linear):
    """RankRLS on few features, which are added one at a time by the leave-query-out error.

    lambda and the number of features are chosen together by validation. Without validation queries
    the leave-query-out rankings choose; they have chosen the features, too, so that their values
    are too good, and more features are taken.

    Parameters
    ----------
    lambdas : tuple of float
        Penalties to choose from.
    most : int
        Features at most.
    """

    name: ClassVar[str] = "greedy_rankrls"
    lambdas: Values[Positive] = GREEDY_GRID
    most: Annotated[int, Field(ge=1, le=100_000)] = 100

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Follow the path of each lambda, and choose a place on one of them."""
        choice = Choice(self.measure, train if valid is None else valid)
        grade = centred(train.grade.astype(np.float64), train.start)
        weights: Float64 = np.empty(0)
        chosen: tuple[float, list[int]] = (0.0, [])
        for penalty in self.lambdas:
            path: list[int] = []
            for step in greedy_path(train, penalty, self.most):
                path.append(step.feature)
                held_out = grade - step.residual if valid is None else valid.values @ step.weights
                if choice.offer(held_out):
                    weights = step.weights
                    chosen = penalty, list(path)
        return {"weights": weights}, {
            "lambda": chosen[0],
            "k": len(chosen[1]),
            "selected": [train.names[position] for position in chosen[1]],
            "chosen_value": choice.value,
        }
