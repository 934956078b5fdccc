"""Measures of LETOR 4.0 (Qin and Liu 2013, arXiv 1306.2597), as its evaluation script has them.

They differ from those of `evaluation.measures`, so that each name begins with ``letor_`` and no
table has both in one column:

* Relevant are grades from 1 on. A query without a relevant document counts, with 0.
* ``DCG@k = sum_{r<=k} (2^grade_r - 1) / max(1, log2 r)``: ranks 1 and 2 have no discount.
* NDCG@k of a query with fewer than k documents is 0; P@k divides by k.
* MeanNDCG is the mean of NDCG over all ranks of the query.
* Equal scores stay in the order of the file.
* Values are means over the queries of a fold, then over folds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ssi_core.guests.reranking.kernels.rank_lists import (
    average_precisions,
    gains_at,
    mean_gains,
    precisions_at,
    sort_lists,
)
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import Float64, Int64

MEASURES = ("letor_map", "letor_p_at_10", "letor_mean_ndcg", "letor_ndcg_at_10")
"""Measures of tables, in their order."""
_AT = re.compile(r"letor_(p|ndcg)_at_([1-9]\d{0,3})")


@dataclass(frozen=True)
class Grades:
    """Grades of lists in the form that measures read.

    Attributes
    ----------
    start : int64 (lists + 1,)
        The rows of list i are ``start[i]:start[i + 1]``.
    relevant : bool (rows,)
        Documents with a grade of at least 1.
    gain : float64 (rows,)
        ``2^grade - 1``.
    """

    start: Int64
    relevant: NDArray[np.bool_]
    gain: Float64

    @classmethod
    def of(cls, features: PairFeatures) -> Grades:
        """Return the grades of pairs."""
        gain = np.exp2(features.grade.astype(np.float64)) - 1
        return cls(features.start, features.grade >= 1, gain)

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def ideal(self) -> Float64:
        """Discounted gain of the best order, down to each place of each list; float64 (rows,)."""
        owner = np.repeat(np.arange(len(self)), np.diff(self.start))
        best = self.gain[np.lexsort((-self.gain, owner))]
        rank = np.arange(1, len(best) + 1) - self.start[owner]
        best /= np.maximum(1.0, np.log2(rank))
        # A list at a time: differences of one running sum would lose digits.
        return np.concatenate(
            [np.cumsum(best[a:b]) for a, b in zip(self.start[:-1], self.start[1:], strict=True)]
            or [best]
        )

    def order_of(self, scores: Float64) -> Int64:
        """Return the rows of each list by falling scores, equal ones in the order of the file."""
        if scores.shape != self.gain.shape or not np.isfinite(scores).all():
            raise ValueError(f"scores: expected {len(self.gain)} finite numbers, one a row")
        owner = np.repeat(np.arange(len(self)), np.diff(self.start))
        return np.lexsort((-scores, owner))

    def sort(self, scores: Float64, order: Int64) -> None:
        """Bring an order up to date with scores, in place; see `kernels.rank_lists.sort_lists`."""
        sort_lists(scores, self.start, order)


PerQuery = Callable[[Grades, Int64], Float64]
"""``measure(grades, order)``: a value for each list."""


def measure_named(name: str) -> PerQuery:
    """Return a measure: letor_map, letor_mean_ndcg, letor_p_at_K or letor_ndcg_at_K.

    Raises
    ------
    ValueError
        There is no such measure.
    """
    if name in ("letor_map", "letor_mean_ndcg"):
        return average_precision if name == "letor_map" else mean_ndcg
    at = _AT.fullmatch(name)
    if at is None:
        raise ValueError(
            f"measure={name!r}; expected letor_map, letor_mean_ndcg, letor_p_at_K or "
            "letor_ndcg_at_K"
        )
    kind, k = (precision_at if at[1] == "p" else ndcg_at), int(at[2])
    return lambda grades, order: kind(grades, order, k)


def gain_rank(name: str) -> int | None:
    """Return K of the measure letor_ndcg_at_K; None of other measures."""
    at = _AT.fullmatch(name)
    return int(at[2]) if at is not None and at[1] == "ndcg" else None


def title_of(name: str) -> str:
    """Return the name of a measure as LETOR writes it.

    >>> title_of("letor_ndcg_at_5")
    'NDCG@5'
    """
    if at := _AT.fullmatch(name):
        return f"{at[1].upper()}@{at[2]}"
    return {"letor_map": "MAP", "letor_mean_ndcg": "MeanNDCG"}[name]


def average_precision(grades: Grades, order: Int64) -> Float64:
    """Return the average precision of each list."""
    values = np.empty(len(grades))
    average_precisions(order, grades.start, grades.relevant, values)
    return values


def precision_at(grades: Grades, order: Int64, k: int) -> Float64:
    """Return the precision of the first k of each list."""
    values = np.empty(len(grades))
    precisions_at(order, grades.start, grades.relevant, k, values)
    return values


def ndcg_at(grades: Grades, order: Int64, k: int) -> Float64:
    """Return LETOR's NDCG@k of each list."""
    values = np.empty(len(grades))
    gains_at(order, grades.start, grades.gain, grades.ideal, k, values)
    return values


def mean_ndcg(grades: Grades, order: Int64) -> Float64:
    """Return LETOR's MeanNDCG of each list."""
    values = np.empty(len(grades))
    mean_gains(order, grades.start, grades.gain, grades.ideal, values)
    return values


def per_query(
    features: PairFeatures, scores: Float64, measures: Sequence[str] = MEASURES
) -> dict[str, Float64]:
    """Measure the order of scores for each query.

    Parameters
    ----------
    features : PairFeatures
        Pairs with their grades.
    scores : float64 (pairs,)
        Finite.
    measures : sequence of str
        See `measure_named`.

    Returns
    -------
    dict
        Measure -> float64 (queries,).
    """
    grades = Grades.of(features)
    order = grades.order_of(np.asarray(scores, dtype=np.float64))
    return {name: measure_named(name)(grades, order) for name in measures}


def means(values: Mapping[str, Float64]) -> dict[str, float]:
    """Return the mean over queries of each measure."""
    return {name: float(np.mean(column)) for name, column in values.items()}


def require_measure(setting: str, measure: str) -> None:
    """Refuse a measure that is not known; the message names the setting that it is a value of.

    >>> require_measure("optimise", "ndcg")
    Traceback (most recent call last):
    ValueError: optimise='ndcg'; expected letor_map, letor_mean_ndcg, letor_p_at_K or letor_ndcg_at_K
    """  # noqa: E501
    try:
        measure_named(measure)
    except ValueError as error:
        raise ValueError(f"{setting}{str(error).removeprefix('measure')}") from None
