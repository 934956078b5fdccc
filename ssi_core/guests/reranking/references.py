"""Rankers that hardly learn and that no other should be below: a feature, and a fusion of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ssi_core.bounds import Positive
from ssi_core.estimator import Arrays
from ssi_core.guests.reranking.base import MISSING, Linear
from ssi_core.guests.reranking.measures import Grades, measure_named
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.scoring.rank_sum import ranks
from ssi_core.types import Float64


@dataclass(frozen=True)
class BestFeature(Linear):
    """``s(x) = +-x_f`` of the feature and the direction that are best on the training queries.

    The first of equal ones is taken. Validation queries choose nothing.
    """

    name: ClassVar[str] = "best_feature"

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Measure each feature as it is and upside down."""
        measure, grades = measure_named(self.measure), Grades.of(train)
        best, top, weights = (0, 1.0), -1.0, np.zeros(len(train.names))
        for position in range(len(train.names)):
            for sign in (1.0, -1.0):
                order = grades.order_of(sign * train.values[:, position])
                value = float(np.mean(measure(grades, order)))
                if value > top:
                    best, top = (position, sign), value
        weights[best[0]] = best[1]
        direction = "higher is better" if best[1] > 0 else "lower is better"
        return {"weights": weights}, {
            "feature": train.names[best[0]], "direction": direction, "train": top
        }  # fmt: skip


@dataclass(frozen=True)
class ReciprocalRanks(Linear):
    """``s(x) = sum_f 1 / (constant + rank_f(x))`` over all features: reciprocal rank fusion.

    Ranks are those of the documents of a query, equal values share the mean of theirs, and a
    missing value adds nothing. The training queries give each feature its direction, and nothing
    else. Source: G. V. Cormack, C. L. A. Clarke, S. Buettcher, Reciprocal rank fusion outperforms
    Condorcet and individual rank learning methods (SIGIR 2009).

    Parameters
    ----------
    constant : float
        Added to each rank.
    """

    name: ClassVar[str] = "fusion"
    lists: ClassVar[bool] = True
    constant: Positive = 60.0

    def inputs(self, features: PairFeatures, arrays: Arrays) -> PairFeatures:
        """Return the reciprocal ranks of each feature."""
        values: Float64 = np.zeros(features.values.shape)
        for position, direction in enumerate(arrays[MISSING][0]):
            column = direction * features.values[:, position]
            for _, rows in features.lists():
                kept = rows.start + np.flatnonzero(~np.isnan(column[rows]))
                values[kept, position] = 1 / (self.constant + ranks(column[kept]))
        return features.with_values(values, features.names)

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Give each feature the weight 1."""
        return {"weights": np.ones(len(train.names))}, {}
