"""A ranker of few new features, which are made of the old ones: selection, then any ranker.

Dang and Croft (see `best_first`), sections 2.2 and 4.2.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ssi_core.arrays import ArraySpec, ArraySpecs, prefixed
from ssi_core.estimator import Arrays, Sizes
from ssi_core.guests.reranking.base import Choice, Reranker, Seed
from ssi_core.guests.reranking.best_first import Subset, best_alone, combination, partition
from ssi_core.guests.reranking.measures import require_measure
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.types import BadInput, Float64

_INNER = "ranker_"
"""Beginning of the names of the inner ranker's arrays."""
_SUBSETS = "subsets"
"""Number of subsets that were taken, which the arrays alone know."""
_SEARCHED: OrderedDict[str, list[Subset]] = OrderedDict()
"""Subsets by digest of training pairs and settings: rankers of the same pairs share a search."""
_MOST_SEARCHED = 32
"""Searches that are kept, the last ones: those of ten folds with three sizes each."""
_Size = Annotated[int, Field(ge=2, le=10)]


@dataclass(frozen=True)
class BestFirstSelection(Reranker):
    """``s(x) = r(x')``: a ranker r of at most ``most`` features, each made of a subset of the old.

    With ``subsets`` "best_first", feature t is the score of a linear ranker of at most ``size`` old
    features, which best-first search and coordinate ascent have found; the features of a subset
    leave the pool for the next one. With "alone" it is the t-th best old feature by itself (best@m
    of the paper). Of 1 to ``most`` features, in this order, validation chooses how many; without
    validation queries all are taken. Of several sizes validation chooses one, too.

    Parameters
    ----------
    inner : str
        Name of the ranker that learns from the new features.
    settings : mapping
        Its hyper-parameters.
    subsets : str
        "best_first" or "alone".
    size : int or tuple of int
        Features of a subset at most; several, of which the validation queries choose.
    most : int
        New features at most.
    optimise : str
        Measure of the training queries that the search climbs.
    rounds : int
        The search ends after so many nodes that are not better.
    restarts : int
        Starts of coordinate ascent for a subset.
    seed : int
        Seed of the search.
    """

    name: ClassVar[str] = "best_first"
    measure: str = "letor_ndcg_at_5"
    inner: str = "coordinate_ascent"
    settings: Mapping[str, Any] = field(default_factory=dict)
    subsets: Literal["best_first", "alone"] = "best_first"
    size: _Size | Annotated[tuple[_Size, ...], Field(min_length=1)] = 3
    most: Annotated[int, Field(ge=1, le=1000)] = 5
    optimise: str = "letor_ndcg_at_5"
    rounds: Annotated[int, Field(ge=1, le=1000)] = 5
    restarts: Annotated[int, Field(ge=1, le=1000)] = 5
    seed: Seed = 0

    def __post_init__(self) -> None:
        """Refuse an unknown ranker, or settings that it does not take."""
        super().__post_init__()
        require_measure("optimise", self.optimise)
        if self.inner == self.name:
            raise ValueError(f"inner={self.inner!r}: expected another ranker")
        settings = {n: tuple(v) if isinstance(v, list) else v for n, v in self.settings.items()}
        object.__setattr__(self, "settings", settings)
        self.inner_ranker()

    def inner_ranker(self) -> Reranker:
        """Build the ranker of the new features."""
        from ssi_core.guests.reranking.rankers import reranker_named  # which holds this one, too

        return reranker_named(self.inner, dict(self.settings), "settings")

    def unavailable(self) -> str | None:
        """Return why the inner ranker cannot be trained here."""
        return self.inner_ranker().unavailable()

    def learn(
        self, train: PairFeatures, valid: PairFeatures | None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Search for subsets, train the ranker on the first of them, and choose how many."""
        if valid is None and len(self.sizes()) > 1:
            raise BadInput(
                f"size={list(self.sizes())}: no validation queries, which choose one of them. Give "
                "validation queries, or one size."
            )
        choice = None if valid is None else Choice(self.measure, valid)
        kept: list[tuple[int, list[Subset], Arrays, dict[str, Any]]] = []
        trained = 0
        for size in self.sizes():
            subsets = self._search(train, size)
            trained += sum(subset.trained for subset in subsets)
            for count in range(len(subsets) if choice is None else 1, len(subsets) + 1):
                matrix = combination(subsets[:count], len(train.names))
                other = None if valid is None else _made(valid, matrix)
                fitted = self.inner_ranker().fit(_made(train, matrix), other)
                kept.append((size, subsets[:count], fitted.arrays, fitted.facts))
                if choice is not None and other is not None:
                    choice.offer(fitted.score(other))
        size, chosen, arrays, facts = kept[-1 if choice is None else choice.best]
        facts_of_all: dict[str, Any] = {
            "selected": [[train.names[n] for n in subset.features] for subset in chosen],
            "train_of_subsets": [subset.value for subset in chosen],
            "trained_subsets": trained,
            "ranker": facts,
        }
        if self.subsets == "best_first":
            facts_of_all["size"] = size
        if choice is not None:
            facts_of_all["chosen_value"] = choice.value
        inner = {f"{_INNER}{name}": array for name, array in arrays.items()}
        return {"combination": combination(chosen, len(train.names)), **inner}, facts_of_all

    def sizes(self) -> tuple[int, ...]:
        """Return the sizes to search; features that are best alone have one."""
        if self.subsets == "alone":
            return (1,)
        return self.size if isinstance(self.size, tuple) else (self.size,)

    def _search(self, train: PairFeatures, size: int) -> list[Subset]:
        if self.subsets == "alone":
            return best_alone(train, self.optimise, self.most)
        how: dict[str, Any] = {"measure": self.optimise, "most": self.most, "rounds": self.rounds}
        how |= {"restarts": self.restarts, "seed": self.seed}
        digest = hashlib.blake2b(repr((size, sorted(how.items()))).encode(), digest_size=16)
        for array in (train.values, train.grade, train.start):
            digest.update(np.ascontiguousarray(array).data)
        key = digest.hexdigest()
        if key not in _SEARCHED:
            _SEARCHED[key] = partition(train, size, **how)
        _SEARCHED.move_to_end(key)
        while len(_SEARCHED) > _MOST_SEARCHED:
            _SEARCHED.popitem(last=False)
        return _SEARCHED[key]

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the weights of features in subsets, and the arrays of the ranker of these."""
        inner = self.inner_ranker().kept_specs({"features": _SUBSETS})
        return {
            "combination": ArraySpec("float64", (sizes["features"], f"{_INNER}{_SUBSETS}")),
            **prefixed(inner, _INNER),
        }

    def scores(self, arrays: Arrays, values: Float64) -> Float64:
        """Return the scores of the ranker on the new features."""
        inner = {
            name.removeprefix(_INNER): array
            for name, array in arrays.items()
            if name.startswith(_INNER)
        }
        return self.inner_ranker().scores(
            inner, np.ascontiguousarray(values @ arrays["combination"])
        )


def _made(pairs: PairFeatures, matrix: Float64) -> PairFeatures:
    """Return the same pairs with the new features."""
    values = np.ascontiguousarray(pairs.values @ matrix)
    return pairs.with_values(values, [f"subset_{n + 1}" for n in range(matrix.shape[1])])
