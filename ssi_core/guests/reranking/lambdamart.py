"""LambdaMART by LightGBM: the boosted trees that a user would take, as a reference.

Burges, From RankNet to LambdaRank to LambdaMART (MSR-TR-2010-82). LightGBM is not among the
packages of ssi: ``pip install 'ssi[lambdamart]'``.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ssi_core.arrays import ArraySpec, ArraySpecs, Size
from ssi_core.bounds import Rate
from ssi_core.guests.reranking.base import Arrays, Choice, Reranker, Rounds, Seed
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import Float64, Refused

_MISSING = "LightGBM is not installed: pip install 'ssi[lambdamart]'."


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise Refused(f"lambdamart: {_MISSING}") from error
    return lightgbm


@dataclass(frozen=True)
class LambdaMart(Reranker):
    """A sum of regression trees, each fitted to gradients that weigh pairs by their NDCG.

    The number of trees is the one that is best on the validation queries; without them ``rounds``.
    One thread, so that the same call gives the same trees. A split sends missing values to the side
    where they fit best.

    Parameters
    ----------
    rounds : int
        Trees at most.
    leaves : int
        Leaves of a tree at most.
    rate : float
        Factor of each tree.
    least : int
        Rows of a leaf at least.
    seed : int
        Seed of LightGBM.
    """

    name: ClassVar[str] = "lambdamart"
    reads_missing: ClassVar[bool] = True
    rounds: Rounds = 300
    leaves: Annotated[int, Field(ge=2, le=100_000)] = 15
    rate: Rate = 0.05
    least: Annotated[int, Field(ge=1, le=10**9)] = 20
    seed: Seed = 0

    def unavailable(self) -> str | None:
        """Return that LightGBM is not installed; None where it is."""
        return None if find_spec("lightgbm") else _MISSING

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Grow trees, and choose how many."""
        lightgbm = _lightgbm()
        settings = {
            "objective": "lambdarank",
            "num_leaves": self.leaves,
            "learning_rate": self.rate,
            "min_data_in_leaf": self.least,
            "num_threads": 1,
            "seed": self.seed % 2**31,
            "deterministic": True,
            "verbosity": -1,
        }
        data = lightgbm.Dataset(train.values, label=train.grade, group=train.sizes)
        trees = lightgbm.train(settings, data, num_boost_round=self.rounds)
        rounds, facts = self.rounds, {}
        if valid is not None:
            choice, total = Choice(self.measure, valid), np.zeros(len(valid))
            for number in range(trees.num_trees()):
                total += trees.predict(
                    valid.values, start_iteration=number, num_iteration=1, num_threads=1
                )
                choice.offer(total)
            rounds, facts = choice.best + 1, {"chosen_value": choice.value}
        text = trees.model_to_string(num_iteration=rounds)
        return {"trees": np.frombuffer(text.encode(), np.uint8)}, {"trees": rounds, **facts}

    def array_specs(self, features: Size) -> ArraySpecs:
        """Declare the text of the trees."""
        return {"trees": ArraySpec("uint8", ("bytes",))}

    def scores(self, arrays: Arrays, values: Float64) -> Float64:
        """Return the sum of the leaves of each row."""
        trees = _lightgbm().Booster(model_str=arrays["trees"].tobytes().decode())
        scores: Float64 = np.asarray(trees.predict(values, num_threads=1), dtype=np.float64)
        return scores
