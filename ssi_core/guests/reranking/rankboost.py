"""RankBoost: a sum of weak rankers, each a threshold of one feature.

Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences
(Journal of Machine Learning Research 4, 2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.estimator import Arrays, Sizes
from ssi_core.guests.reranking.base import Choice, Preferences, Reranker, Rounds
from ssi_core.guests.reranking.kernels.rankboost import best_threshold, potentials, reweigh
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import Float64

CERTAIN = 1 - 1e-9
"""Largest |r| that counts: a weak ranker that makes no error would have an infinite weight."""


@dataclass(frozen=True)
class RankBoost(Reranker):
    """``s(x) = sum_t alpha_t [x_f(t) > theta_t]``.

    All pairs of documents of a query with different grades begin with the same weight. A round
    takes the feature and the threshold, of all values of the feature, with the largest ``|r|``,
    ``r = sum_pairs D (h(better) - h(worse))``, with ``alpha = 1/2 ln((1 + r) / (1 - r))``, and
    multiplies the weight of each pair by ``exp(-alpha (h(better) - h(worse)))``. The number of
    rounds is chosen by validation; without validation queries it is ``rounds``.

    Parameters
    ----------
    rounds : int
        Weak rankers at most.
    """

    name: ClassVar[str] = "rankboost"
    rounds: Rounds = 300

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Add weak rankers, and choose how many."""
        pairs = Preferences.of(train)
        weight = np.full(len(pairs.better), 1 / len(pairs.better))
        values = np.ascontiguousarray(train.values.T)
        falling = np.argsort(-values, axis=1, kind="stable")
        potential, best = np.empty(len(train)), np.empty(1)
        chosen: list[tuple[int, float, float]] = []
        choice = None if valid is None else Choice(self.measure, valid)
        total = None if valid is None else np.zeros(len(valid))
        for _ in range(self.rounds):
            potentials(weight, pairs.better, pairs.worse, potential)
            feature, threshold = best_threshold(values, falling, potential, best)
            if feature < 0 or abs(best[0]) < 1e-12:
                break
            r = float(np.clip(best[0], -CERTAIN, CERTAIN))
            alpha = 0.5 * np.log((1 + r) / (1 - r))
            chosen.append((feature, threshold, alpha))
            reweigh(weight, pairs.better, pairs.worse, values[feature] > threshold, alpha)
            if choice is not None and valid is not None and total is not None:
                total += alpha * (valid.values[:, feature] > threshold)
                choice.offer(total)
        rounds = len(chosen) if choice is None or not chosen else choice.best + 1
        kept = chosen[:rounds]
        facts: dict[str, Any] = {"rounds": rounds, "features": len({one[0] for one in kept})}
        if choice is not None:
            facts["chosen_value"] = choice.value
        return {
            "feature": np.array([one[0] for one in kept], np.int64),
            "threshold": np.array([one[1] for one in kept]),
            "alpha": np.array([one[2] for one in kept]),
        }, facts

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the weak rankers and their weights."""
        return {
            "feature": ArraySpec("int64", ("rounds",), index=sizes["features"]),
            "threshold": ArraySpec("float64", ("rounds",)),
            "alpha": ArraySpec("float64", ("rounds",)),
        }

    def scores(self, arrays: Arrays, values: Float64) -> Float64:
        """Return the sum of the weights of the weak rankers that say yes."""
        total = np.zeros(len(values))
        parts = (arrays[name] for name in ("feature", "threshold", "alpha"))
        for feature, threshold, alpha in zip(*parts, strict=True):
            total += alpha * (values[:, feature] > threshold)
        return total
