"""LambdaMART by LightGBM: the boosted trees that a user would take, as a reference.

Burges, From RankNet to LambdaRank to LambdaMART (MSR-TR-2010-82). LightGBM is not among the
packages of ssi: ``pip install 'ssi[lambdamart]'``. It grows the trees, which are kept
as arrays: a wrong number in its own text of them ends the process that reads it, or never ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.bounds import Rate
from ssi_core.estimator import Arrays, Sizes
from ssi_core.extras import module
from ssi_core.guests.reranking.base import Choice, Reranker, Rounds, Seed
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import Float64

_MISSING = "lightgbm is not installed: pip install 'ssi[lambdamart]'."


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
        lightgbm = module("lightgbm", "lambdamart")
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
        return _arrays(trees.model_to_string(num_iteration=rounds)), {"trees": rounds, **facts}

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the trees: nodes one after the other, of which a leaf leads to itself."""
        return {
            "roots": ArraySpec("int32", ("trees",), index="nodes"),
            "feature": ArraySpec("int32", ("nodes",), index=sizes["features"]),
            "value": ArraySpec("float64", ("nodes",)),
            "left": ArraySpec("int32", ("nodes",), index="nodes"),
            "right": ArraySpec("int32", ("nodes",), index="nodes"),
            "unknown": ArraySpec("uint8", ("nodes",), most=_RIGHT),
        }

    def scores(self, arrays: Arrays, values: Float64) -> Float64:
        """Return the sum of the leaves of each row, tree by tree, as LightGBM adds them up."""
        scores = np.zeros(len(values))
        for root in arrays["roots"].tolist():
            scores += arrays["value"][_leaves(arrays, root, values, self.leaves)]
        return scores


_LARGEST = 1e300
"""Threshold of a node that asks only whether a value is missing, which LightGBM writes as inf; what
is read back is finite, and so is its sum."""
_AS_ZERO, _LEFT, _RIGHT = 0, 1, 2
"""Where a node sends a missing value."""


def _leaves(arrays: Arrays, root: int, values: Float64, deepest: int) -> NDArray[np.intp]:
    """Return the node of a tree that each row ends at, after so many steps at most."""
    at, rows = np.full(len(values), root, np.intp), np.arange(len(values))
    for _ in range(deepest):
        left, right = arrays["left"][at], arrays["right"][at]
        if np.array_equal(left, right):  # leaves alone
            break
        x, unknown = values[rows, arrays["feature"][at]], arrays["unknown"][at]
        missing = np.isnan(x)
        goes_left = np.where(missing, 0.0, x) <= arrays["value"][at]
        goes_left = np.where(missing & (unknown != _AS_ZERO), unknown == _LEFT, goes_left)
        at = np.where(goes_left, left, right).astype(np.intp)
    return at


def _arrays(text: str) -> Arrays:
    """Return the arrays of `LambdaMart.array_specs` of the text of a model of LightGBM."""
    roots: list[int] = []
    nodes: list[tuple[int, float, int, int, int]] = []
    for tree in text.split("\nTree=")[1:]:
        lines = (line.partition("=") for line in tree.splitlines())
        facts = {name: numbers.split() for name, _, numbers in lines}
        begin, inner = len(nodes), len(facts.get("split_feature", ()))

        def node_of(child: str, begin: int = begin, inner: int = inner) -> int:
            # A leaf is a number below 0, counted from -1.
            return begin + int(child) if int(child) >= 0 else begin + inner - 1 - int(child)

        roots.append(begin)
        for node in range(inner):
            kind = int(facts["decision_type"][node])
            is_known = kind >> 2 == 2  # that NaN is a value of its own
            nodes.append(
                (
                    int(facts["split_feature"][node]),
                    min(float(facts["threshold"][node]), _LARGEST),
                    node_of(facts["left_child"][node]),
                    node_of(facts["right_child"][node]),
                    (_LEFT if kind & 2 else _RIGHT) if is_known else _AS_ZERO,
                )
            )
        for leaf, value in enumerate(facts["leaf_value"], begin + inner):
            nodes.append((0, float(value), leaf, leaf, _AS_ZERO))
    features, values, lefts, rights, unknowns = zip(*nodes, strict=True)
    return {
        "roots": np.array(roots, np.int32),
        "feature": np.array(features, np.int32),
        "value": np.array(values, np.float64),
        "left": np.array(lefts, np.int32),
        "right": np.array(rights, np.int32),
        "unknown": np.array(unknowns, np.uint8),
    }
