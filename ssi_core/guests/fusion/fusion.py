"""Reciprocal rank fusion of several models (Cormack, Clarke and Buettcher 2009)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ssi_core.arrays import POSITIVE, ArraySpec, ArraySpecs
from ssi_core.bounds import Count, Positive, Values
from ssi_core.estimator import Sizes
from ssi_core.models.base import FitOptions, FittedModel, Side, UnfitStart, fitted
from ssi_core.models.combined.parts import Parts, arrays_of, fitted_parts
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import RankSum, Several, Vectors
from ssi_core.types import Task, Texts


@dataclass(frozen=True)
class Fusion(Parts):
    """Two models or more, each trained by itself; what counts is the rank that each gives.

    ``f(q, d) = sum_i 1 / (k + rank_i(q, d))``. Scores of a model never matter, so that nothing need
    be known of their size. A rank is among the candidates of the query, so that links of training,
    which are none, take no place; documents of equal score share the mean of their ranks. The
    measures from random triples and of what was shown rank among all documents.

    The score of a document depends on all others, and is no product of vectors: there is no index,
    no explanation and no export of a fusion, but of each of its parts.

    Parameters
    ----------
    k : list of float
        Constants of the ranks; the one with the lowest rank loss on validation is taken. The
        larger, the less the first places weigh.
    """

    name: ClassVar[str] = "fusion"
    without: ClassVar[frozenset[str]] = frozenset({"fusion", "reranked", "best_of", "auto"})
    k: Values[Positive] = (60.0,)
    validation_queries: Count = 500

    def __post_init__(self) -> None:
        """Refuse less than two models, and unknown ones."""
        super().__post_init__()
        if len(self.parts) < 2:
            raise ValueError(f"parts: {len(self.parts)} models; a fusion has 2 or more")

    def unserved(self) -> str:
        """Return why no index ranks by it."""
        return (
            "a fusion ranks by the ranks of all documents, which no index keeps. Take one of its "
            "parts, or a mixture of two"
        )

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: the parts learn in turn, and all are kept."""
        costs = self.costs(task, threads)
        memory = sum(cost.memory for cost in costs)
        return Cost(memory, sum(cost.disk for cost in costs))

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the sums over all parts."""
        dense, nonzeros = zip(*(model.vector_shape(task) for model in self.models()), strict=True)
        return sum(dense), sum(nonzeros)

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Train the parts one after the other; choose k where there is a choice."""
        starts = [None] * len(self.parts) if options.start is None else self._starts(options.start)
        fits = list(self.learn_parts(task, rng, options, starts))
        facts = {
            "triples": sum(fit.facts.get("triples", 0) for fit in fits),
            "parts": [fit.facts for fit in fits],
        }
        fused = fitted(self, task, arrays_of(fits) | {"k": np.array(self.k[:1])}, facts)
        if len(self.k) == 1:
            return fused
        validator = options.judge(task, "valid", self.validation_queries)
        choices = list(fused.model.variants(fused))
        losses = [validator.rank_loss(one) for one in choices]
        best = choices[int(np.argmin(losses))]
        by_k = {str(k): loss for k, loss in zip(sorted(self.k), losses, strict=True)}
        return replace(best, facts=best.facts | {"rank_loss_by_k": by_k})

    def _starts(self, start: FittedModel) -> list[FittedModel]:
        if not isinstance(start.model, Fusion) or len(start.model.parts) != len(self.parts):
            raise UnfitStart(f"start={start.model}; expected a fusion of {len(self.parts)} models")
        return fitted_parts(start)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the arrays of all parts, and the constant of the ranks."""
        k = ArraySpec("float64", (1,), least=POSITIVE)
        return {**super().array_specs(sizes), "k": k}

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Vectors of all parts, whose scores are ranked."""
        parts = tuple(part.model.vectors(part, texts, side) for part in fitted_parts(fitted))
        if side == "document":
            return Several(parts=parts)
        return RankSum(parts=parts, constant=float(fitted.arrays["k"][0]))

    def variants(self, fitted: FittedModel) -> Iterator[FittedModel]:
        """Yield the same models with each k."""
        for k in sorted(self.k):
            arrays = {**fitted.arrays, "k": np.array([k])}
            yield replace(fitted, arrays=arrays, facts=fitted.facts | {"k": k})
