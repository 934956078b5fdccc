"""The queries of validation in two halves: one chooses a model, one decides whether to take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ssi_core.bounds import Mean
from ssi_core.evaluation.measures import MEASURES, Ranks
from ssi_core.evaluation.ranking import Validator
from ssi_core.evaluation.significance import is_clearly_higher, paired_randomisation
from ssi_core.scoring.vectors import Fitted
from ssi_core.types import Float64, Task


class Test(NamedTuple):
    """Comparison of two models on the half that had no part in the choice.

    Attributes
    ----------
    better : bool
        The mean of the first model is higher, and p is below the level.
    p : float
        One-sided, by paired randomisation over the queries.
    """

    better: bool
    p: float


class ValidationHalves:
    """A measure of the models that a choice is made of.

    The halves are drawn once, by nothing but the queries. A model that learns from training pairs
    is measured on the first half alone. One that learns nothing from them is measured on training
    queries as well where the half is small, for these are as new to it. A single query is both
    halves: p is at least 1 / 2 then.

    Parameters
    ----------
    task : `Task`
        Task whose validation queries are halved.
    measure : str
        Name in `MEASURES`.
    queries : int
        Queries of both halves together, at most.
    threads : int
        See `Scorer`.

    Attributes
    ----------
    learning : `Task`
        The task whose validation is the first half: a training that ends when validation no longer
        improves has not seen the second.
    measure, queries, threads : str, int and int
        As they were given.
    """

    def __init__(self, task: Task, measure: Mean, queries: int, threads: int = 1) -> None:
        pairs = task.valid.rows[:, 0]
        order = np.random.default_rng(0).permutation(np.unique(pairs))[:queries]
        halves = [
            replace(task, valid=task.valid.take(np.isin(pairs, half)))
            for half in (np.array_split(order, 2) if len(order) > 1 else [order, order])
        ]
        self.learning = halves[0]
        self.measure, self.queries, self.threads = measure, queries, threads
        self._measure = MEASURES[measure]
        self._choosing, self._keeping = (
            Validator(half, "valid", queries, threads=threads) for half in halves
        )
        self._unlearned = [self._choosing]
        if missing := max(0, queries // 2 - len(self._choosing)):
            self._unlearned.append(Validator(task, "train", missing, threads=threads))

    @property
    def sizes(self) -> tuple[int, int]:
        """Queries of both halves."""
        return len(self._choosing), len(self._keeping)

    def mean(self, fit: Fitted) -> float:
        """Return the mean of a trained model on the first half."""
        return float(self._values([self._choosing], fit).mean())

    def values_of_both(self, fit: Fitted) -> Float64:
        """Return the measure of a model for each query of both halves."""
        return self._values([self._choosing, self._keeping], fit)

    def mean_unlearned(self, fit: Fitted) -> float:
        """Return the mean of a model that learns nothing from pairs."""
        return float(self._values(self._unlearned, fit).mean())

    def is_clearly_above(self, first: Fitted, second: Fitted) -> bool:
        """Tell the same as `is_clearly_higher` of two models that learn nothing from pairs.

        They are measured on the queries of `mean_unlearned`.
        """
        return is_clearly_higher(*(self._values(self._unlearned, fit) for fit in (first, second)))

    def means_of_sums(
        self,
        first: Fitted,
        second: Fitted,
        weights: Sequence[tuple[float, float]],
        *,
        learned: bool,
    ) -> list[float]:
        """Return the mean of each weighted sum of two models."""
        validators = [self._choosing] if learned else self._unlearned
        ranks = zip(*(one.ranks_of_sums(first, second, weights) for one in validators), strict=True)
        return [float(self._joined(several).mean()) for several in ranks]

    def test(self, first: Fitted, second: Fitted, level: float) -> Test:
        """Tell whether a model is better than another on the second half."""
        values, others = (self._values([self._keeping], fit) for fit in (first, second))
        p = paired_randomisation(values, others, alternative="greater")
        return Test(bool(p < level and values.mean() > others.mean()), p)

    def is_clearly_higher(self, first: Fitted, second: Fitted) -> bool:
        """Tell whether a model is above another on the second half by more than a standard error.

        See `significance.is_clearly_higher`.
        """
        return is_clearly_higher(*(self._values([self._keeping], fit) for fit in (first, second)))

    def _values(self, validators: Sequence[Validator], fit: Fitted) -> Float64:
        return self._joined([one.ranks(fit) for one in validators])

    def _joined(self, ranks: Sequence[Ranks]) -> Float64:
        return np.concatenate([np.asarray(self._measure(one), np.float64) for one in ranks])
