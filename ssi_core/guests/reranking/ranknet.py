"""RankNet: a small net that learns which of two documents is better.

Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, Learning to rank using gradient
descent (ICML 2005); rate and rounds from Dang and Croft, Feature Selection for Document Ranking
using Best First Search and Coordinate Ascent (the workshop of `rankrls`), section 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Rate
from ssi_core.estimator import Arrays, Sizes
from ssi_core.guests.reranking.base import Choice, Preferences, Reranker, Rounds, Seed
from ssi_core.guests.reranking.kernels.ranknet import ranknet_round
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import Float64


@dataclass(frozen=True)
class RankNet(Reranker):
    """``s(x) = v . sigma(W x + b)``, so that ``P(i before j) = 1 / (1 + exp(s_j - s_i))``.

    Each round goes through the queries in a new order and takes a step for each, down the gradient
    of the cross entropy of all its pairs of documents with different grades. Where the cross
    entropy of the training queries is higher after a round than before, the rate is halved. The
    round that is best on the validation queries is kept; without them the last one. W and v begin
    uniform in ``+-1 / sqrt(inputs)``; the paper gives neither that nor the number of units.

    Parameters
    ----------
    units : int
        Hidden units.
    rate : float
        Learning rate of the first round.
    rounds : int
        Passes through the queries.
    seed : int
        Seed of the start and of the order of the queries.
    """

    name: ClassVar[str] = "ranknet"
    units: Annotated[int, Field(ge=1, le=10_000)] = 10
    rate: Rate = 0.001
    rounds: Rounds = 300
    seed: Seed = 0

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Step down the gradient, round by round."""
        rng = np.random.default_rng([self.seed])
        features, pairs = train.values.shape[1], Preferences.of(train)
        weights = rng.uniform(-1, 1, (self.units, features)) / np.sqrt(features)
        output = rng.uniform(-1, 1, self.units) / np.sqrt(self.units)
        arrays = {"weights": weights, "shift": np.zeros(self.units), "output": output}
        data = (train.values, train.start, pairs.start, pairs.better, pairs.worse)
        lists = np.flatnonzero(np.diff(pairs.start))
        net = (weights, arrays["shift"], output)
        loss, rate = ranknet_round(*data, lists, 0.0, *net), self.rate
        best, choice = arrays, None if valid is None else Choice(self.measure, valid)
        for _ in range(self.rounds):
            ranknet_round(*data, rng.permutation(lists), rate, *net)
            before, loss = loss, ranknet_round(*data, lists, 0.0, *net)
            if not loss <= before:
                rate /= 2
            if choice is None or valid is None:
                continue
            if choice.offer(self.scores(arrays, valid.values)):
                best = {name: array.copy() for name, array in arrays.items()}
        facts: dict[str, Any] = {"rate_at_the_end": rate, "cross_entropy": loss}
        if choice is not None:
            facts |= {"round": choice.best + 1, "chosen_value": choice.value}
        return best, facts

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the weights of both layers."""
        return {
            "weights": ArraySpec("float64", (self.units, sizes["features"])),
            "shift": ArraySpec("float64", (self.units,)),
            "output": ArraySpec("float64", (self.units,)),
        }

    def scores(self, arrays: Arrays, values: Float64) -> Float64:
        """Return what the net puts out for each row."""
        active = values @ arrays["weights"].T + arrays["shift"]
        # 1 / (1 + exp(-z)) without overflow.
        scores: Float64 = (0.5 * (1 + np.tanh(active / 2))) @ arrays["output"]
        return scores
