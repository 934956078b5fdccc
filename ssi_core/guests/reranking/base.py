"""Base of the rerankers: hyper-parameters as a frozen dataclass, and the fitted ranker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.estimator import Arrays, Contents, Estimator, Fitted, Format, Saved, Sizes
from ssi_core.guests.reranking.letor import pad
from ssi_core.guests.reranking.measures import Grades, measure_named
from ssi_core.guests.reranking.missing import filled, learn_missing, scaled
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import BadInput, Float64

Rounds: TypeAlias = Annotated[int, Field(ge=1, le=100_000)]
"""Number of rounds of a training."""
Seed: TypeAlias = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""Seed of every random choice."""
T = TypeVar("T")

MISSING = "missing"
"""Name of the array of `missing.learn_missing`."""


@dataclass(frozen=True)
class Reranker(Estimator):
    """Base of the hyper-parameter dataclasses.

    A subclass gives ``learn``, ``array_specs`` (by the number of "features") and ``scores``.

    Parameters
    ----------
    measure : str
        Measure on the validation queries that chooses between settings or rounds; see
        `measures.measure_named`.
    scale : bool
        Scale each feature to 0..1 over the documents of a query.
    """

    noun: ClassVar[str] = "ranker"
    lists: ClassVar[bool] = False
    """Scores depend on the other documents of the list, scaling and missing values apart."""
    reads_missing: ClassVar[bool] = False
    """Missing values of the training are left as NaN; else they are filled in."""
    measure: str = "letor_map"
    scale: bool = False

    def __post_init__(self) -> None:
        """Refuse values outside of the bounds of their fields."""
        super().__post_init__()
        measure_named(self.measure)

    def fit(self, train: PairFeatures, valid: PairFeatures | None = None) -> FittedReranker:
        """Learn from the pairs of some queries, and choose by those of others.

        Parameters
        ----------
        train : PairFeatures
            Queries to learn from.
        valid : PairFeatures, optional
            Other queries, which choose; each ranker says what it does without them.

        Raises
        ------
        BadInput
            No query has documents of different grades, so that there is no order to learn.
        """
        if valid is not None:
            valid = pad(valid, train.names, "validation")
        firsts = np.minimum.reduceat(train.grade, train.start[:-1])
        if not np.any(np.maximum.reduceat(train.grade, train.start[:-1]) > firsts):
            raise BadInput(
                "no training query has documents of different grades, so that there is no order to "
                "learn. Use more queries, or more documents for each."
            )
        scaled_train = scaled(train) if self.scale else train
        learnt = learn_missing(scaled_train)
        if self.reads_missing:
            learnt[0, np.isnan(train.values).any(axis=0)] = 0
        kept = {MISSING: learnt}
        arrays, facts = self.learn(
            self.inputs(scaled_train, kept), None if valid is None else self.read(valid, kept)
        )
        if train.missing:
            facts = {**facts, "missing_values": train.missing}
        return FittedReranker(self, {**arrays, **kept}, train.names, facts)

    def read(self, features: PairFeatures, arrays: Arrays) -> PairFeatures:
        """Return pairs as the ranker reads them: scaled where it scales, and filled in."""
        return self.inputs(scaled(features) if self.scale else features, arrays)

    def inputs(self, features: PairFeatures, arrays: Arrays) -> PairFeatures:
        """Return scaled pairs with something in the place of each missing value."""
        return filled(features, arrays[MISSING])

    def unavailable(self) -> str | None:
        """Return why the ranker cannot be trained here, as a sentence; None where it can."""
        return None

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Return the arrays of the ranker, and what the training chose and measured."""
        raise TypeError(f"{type(self).__name__} cannot be fitted")

    def kept_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the arrays that are kept: those of the ranker, and what missing values become."""
        missing = ArraySpec("float64", (3, sizes["features"]))
        return {**self.array_specs(sizes), MISSING: missing}

    def scores(self, arrays: Arrays, values: Float64) -> Float64:
        """Return the scores of rows of features, a pure function of the arrays."""
        raise TypeError(f"{type(self).__name__} does not score")


@dataclass(frozen=True)
class Linear(Reranker):
    """Base of rankers with the score ``w . x``; the array ``weights`` is float64 (features,)."""

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare w."""
        return {"weights": ArraySpec("float64", (sizes["features"],))}

    def scores(self, arrays: Arrays, values: Float64) -> Float64:
        """Return ``x . w`` of each row."""
        product: Float64 = values @ arrays["weights"]
        return product


@dataclass(frozen=True)
class FittedReranker(Fitted[Reranker]):
    """A trained reranker.

    Attributes
    ----------
    ranker : Reranker
        Hyper-parameters.
    arrays : Arrays
        Name -> array.
    names : tuple of str
        Features that it reads.
    facts : dict
        Settings and rounds that the training chose, and values that it measured.
    """

    ranker: Reranker
    arrays: Arrays
    names: tuple[str, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    form: ClassVar[Format] = Format("reranker", "reranker.json", "Train it again.", names="ranker")

    def score(self, features: PairFeatures, where: str = "features") -> Float64:
        """Return a score for each pair, float64 (pairs,); a feature that no pair has is 0.

        Raises
        ------
        BadInput
            The pairs have a feature that the ranker does not know; the message begins with
            ``where``.
        """
        padded = pad(features, self.names, where)
        read = self.ranker.read(padded, self.arrays)
        return np.ascontiguousarray(self.ranker.scores(self.arrays, read.values))

    def contents(self) -> Contents[Reranker]:
        """Return settings, arrays, names of features and facts."""
        return Contents(self.ranker, self.arrays, {"names": self.names, "facts": self.facts})

    @classmethod
    def restored(cls, saved: Saved[Reranker]) -> FittedReranker:
        """Read the ranker, and its arrays for as many features as have a name."""
        ranker, names = saved.settings, tuple(map(str, saved.facts["names"]))
        arrays = saved.arrays(ranker.kept_specs({"features": len(names)}))
        return cls(ranker, arrays, names, saved.facts["facts"])


class Choice:
    """The best of several candidates by a measure on validation queries; the first of equal ones.

    Parameters
    ----------
    measure : str
        See `measures.measure_named`.
    valid : PairFeatures
        Queries that choose.
    """

    def __init__(self, measure: str, valid: PairFeatures) -> None:
        self._measure, self._grades = measure_named(measure), Grades.of(valid)
        self.value, self.best = -1.0, -1
        self.values: list[float] = []

    def offer(self, scores: Float64) -> bool:
        """Measure the scores of the next candidate; tell whether it is the best so far."""
        value = float(np.mean(self._measure(self._grades, self._grades.order_of(scores))))
        self.values.append(value)
        if value <= self.value:
            return False
        self.value, self.best = value, len(self.values) - 1
        return True


@dataclass(frozen=True)
class Preferences:
    """Pairs of rows of one list of which the first has the higher grade.

    Attributes
    ----------
    start : int64 (lists + 1,)
        The pairs of list i are ``start[i]:start[i + 1]``.
    better, worse : int64
        Rows.
    """

    start: NDArray[np.int64]
    better: NDArray[np.int64]
    worse: NDArray[np.int64]

    @classmethod
    def of(cls, features: PairFeatures) -> Preferences:
        """Return all pairs of rows of a query with different grades."""
        better, worse, start = [], [], [0]
        for _, rows in features.lists():
            grade = features.grade[rows]
            i, j = np.nonzero(grade[:, None] > grade[None, :])
            better.append(i + rows.start)
            worse.append(j + rows.start)
            start.append(start[-1] + len(i))
        return cls(np.array(start, np.int64), _joined(better), _joined(worse))


def _joined(parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *parts])
