"""AdaRank: boosting of single features by a measure of whole lists.

Xu and Li, AdaRank: a boosting algorithm for information retrieval (SIGIR 2007); the tolerance from
Dang and Croft (see `ranknet`), section 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ssi_core.bounds import Share
from ssi_core.estimator import Arrays
from ssi_core.guests.reranking.base import Choice, Linear, Rounds
from ssi_core.guests.reranking.measures import Grades, measure_named, require_measure
from ssi_core.guests.reranking.pairs import PairFeatures

CERTAIN = 1e-9
"""Smallest share of the weights that a feature leaves over: its weight stays finite."""


@dataclass(frozen=True)
class AdaRank(Linear):
    """``s(x) = sum_t alpha_t x_f(t)``, where each round adds the feature that suits hard queries.

    With the measure ``E(q)`` in 0..1 of a query, and weights ``P`` of the training queries that
    begin equal: take the feature with the largest ``sum P E``, whose weight is ``alpha = 1/2
    ln(sum P (1 + E) / sum P (1 - E))``; then ``P(q)`` is in proportion to ``exp(-E(q))`` of the sum
    so far. A feature counts as it is and upside down. The training ends where the mean of the
    measure has fallen by more than the tolerance since the round before.

    The same feature may be the best again and again. One that was taken ``repeats`` times in a row
    is set aside for the rest of the training; the workshop paper names such a trick and does not
    describe it. The round that is best on the validation queries is kept; without them the last
    one.

    Parameters
    ----------
    optimise : str
        Measure of the training queries that is boosted.
    tolerance : float
        Largest fall between two rounds after which the training goes on.
    repeats : int
        Rounds in a row that may take the same feature.
    rounds : int
        Rounds at most.
    """

    name: ClassVar[str] = "adarank"
    optimise: str = "letor_map"
    tolerance: Share = 0.002
    repeats: Annotated[int, Field(ge=1, le=1000)] = 5
    rounds: Rounds = 500

    def __post_init__(self) -> None:
        """Refuse a measure that is not known."""
        super().__post_init__()
        require_measure("optimise", self.optimise)

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Boost features, round by round."""
        grades, measure = Grades.of(train), measure_named(self.optimise)
        features, signs = train.values.shape[1], (1.0, -1.0)
        # Row 2 f is feature f as it is, row 2 f + 1 upside down.
        alone = np.array(
            [
                measure(grades, grades.order_of(sign * train.values[:, f]))
                for f in range(features)
                for sign in signs
            ]
        )
        share = np.full(len(grades), 1 / len(grades))
        weights, best = np.zeros(features), np.zeros(features)
        choice = None if valid is None else Choice(self.measure, valid)
        taken: list[int] = []
        free = np.ones(2 * features, bool)
        before = 0.0
        for _ in range(self.rounds):
            merit = np.where(free, alone @ share, -1)
            if not free.any():
                break
            position = int(np.argmax(merit))
            good = float(merit[position])
            alpha = 0.5 * np.log((1 + good) / max(1 - good, CERTAIN))
            weights[position // 2] += signs[position % 2] * alpha
            values = measure(grades, grades.order_of(train.values @ weights))
            now = float(values.mean())
            if taken and now < before - self.tolerance:
                weights[position // 2] -= signs[position % 2] * alpha
                break
            taken.append(position // 2)
            row = taken[-self.repeats :]
            if len(row) == self.repeats and len(set(row)) == 1:
                free[[2 * row[0], 2 * row[0] + 1]] = False
            before = now
            share = np.exp(-values)
            share /= share.sum()
            if choice is None or valid is None or choice.offer(valid.values @ weights):
                best = weights.copy()
        facts: dict[str, Any] = {"rounds": len(taken), "features": len(set(taken)), "train": before}
        if choice is not None:
            facts |= {"round": choice.best + 1, "chosen_value": choice.value}
        return {"weights": best}, facts
