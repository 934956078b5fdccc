"""A first stage and a reranker as one model: the first documents in the order of a ranker of pairs.

The features of a pair are the scores of all parts and what `first_stage.OF_DOCUMENTS` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ssi_core.arrays import ArraySpecs, prefixed
from ssi_core.bounds import Count
from ssi_core.estimator import Arrays, Sizes
from ssi_core.guests.reranking.base import Reranker
from ssi_core.guests.reranking.first_stage import feature_names, parts_of, sides_to_learn
from ssi_core.guests.reranking.rankers import reranker_named
from ssi_core.models.base import FitOptions, FittedModel, Side, UnfitStart, fitted
from ssi_core.models.combined.parts import Parts, arrays_of, fitted_parts
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import TwoStage, Vectors
from ssi_core.types import Float64, Task, Texts
from ssi_core.views.names import COUNTS

_RANKER = "ranker_"
"""Beginning of the names of the ranker's arrays."""


@dataclass(frozen=True)
class Second:
    """A trained ranker of pairs as a second stage (implements `types.SecondStage`)."""

    ranker: Reranker
    arrays: Arrays
    names: tuple[str, ...]
    depth: int

    def __call__(self, values: Float64) -> Float64:
        """Return a score for each row of features."""
        return np.asarray(self.ranker.scores(self.arrays, values), np.float64)


@dataclass(frozen=True)
class Reranked(Parts):
    """The first part ranks; a ranker of pairs puts its first documents into another order.

    The parts are trained one after the other. Features of a pair are the score of each part,
    ``document_words`` (ln(1 + words)), ``query_words`` (the share of the query's words that the
    document has) and ``first_stage`` (1 / rank of the first part), each scaled to 0..1 over the
    first documents of the query. Where no part has learnt pairs, the ranker learns from training
    queries, and those of validation choose its settings; else one half of the validation queries
    teaches, and the other half chooses. The documents behind the first ones keep their order.

    Parameters
    ----------
    ranker : str
        Name of the ranker of pairs; see docs/reranking.md.
    settings : mapping
        Its hyper-parameters.
    depth : int
        Documents of a query to reorder.
    queries : int
        Maximum number of queries of a side that the ranker learns from.
    """

    name: ClassVar[str] = "reranked"
    without: ClassVar[frozenset[str]] = frozenset({"reranked", "fusion", "best_of", "auto"})
    ranker: str = "rankrls"
    settings: Mapping[str, Any] = field(default_factory=dict)
    depth: Annotated[int, Field(ge=2, le=100_000)] = 100
    queries: Count = 1000

    def __post_init__(self) -> None:
        """Refuse unknown models and rankers; JSON has no tuples, so that lists become such."""
        super().__post_init__()
        if not self.parts:
            raise ValueError("parts: no model; the first one ranks")
        settings = {n: tuple(v) if isinstance(v, list) else v for n, v in self.settings.items()}
        object.__setattr__(self, "settings", settings)
        if self.reranker().lists:
            raise ValueError(
                f"ranker={self.ranker!r}: its scores depend on the whole list. The model 'fusion' "
                "adds up ranks of models."
            )

    def reranker(self) -> Reranker:
        """Build the ranker of pairs; ValueError names the known ones."""
        return reranker_named(self.ranker, self.settings, "settings")

    def kinds(self) -> tuple[type[Any], ...]:
        """Return its own class, those of all parts, and that of the ranker."""
        return (*super().kinds(), type(self.reranker()))

    def views(self) -> set[str]:
        """Views of all parts, and the counts of words."""
        return super().views() | {COUNTS}

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: the parts learn in turn, and all are kept."""
        costs = self.costs(task, threads)
        features = 8 * 3 * self.queries * self.depth * (len(self.parts) + 3)
        memory = sum(cost.memory for cost in costs) + features
        return Cost(memory, sum(cost.disk for cost in costs))

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the sums over all parts, the length and the counts."""
        dense, nonzeros = zip(*(model.vector_shape(task) for model in self.models()), strict=True)
        return sum(dense) + 1, sum(nonzeros) + int(task.documents.matrix(COUNTS).nnz)

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Train the parts, then the ranker on what they say of pairs."""
        starts = [None] * len(self.parts) if options.start is None else self._starts(options.start)
        fits = list(self.learn_parts(task, rng, options, starts))
        names = feature_names(self.models())
        train, valid = sides_to_learn(
            task,
            dict(zip(names, fits, strict=False)),
            depth=self.depth,
            queries=self.queries,
            threads=options.threads,
        )
        ranker = self.reranker().fit(train, valid)
        facts = {
            "triples": sum(fit.facts.get("triples", 0) for fit in fits),
            "parts": [fit.facts for fit in fits],
            "features": list(names),
            "ranker": ranker.facts,
            "ranker_queries": {"train": len(train.queries), "valid": len(valid.queries)},
        }
        arrays = {f"{_RANKER}{name}": array for name, array in ranker.arrays.items()}
        return fitted(self, task, arrays_of(fits) | arrays, facts)

    def _starts(self, start: FittedModel) -> list[FittedModel]:
        if not isinstance(start.model, Reranked) or len(start.model.parts) != len(self.parts):
            raise UnfitStart(f"start={start.model}; expected {len(self.parts)} reranked models")
        return fitted_parts(start)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the arrays of all parts and of the ranker."""
        features = len(feature_names(self.models()))
        ranker = self.reranker().kept_specs({"features": features})
        return {**super().array_specs(sizes), **prefixed(ranker, _RANKER)}

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Vectors of all parts and of the other features; queries have the second stage."""
        other = fitted.view(COUNTS, "document" if side == "query" else "query")
        parts = parts_of(fitted_parts(fitted), texts, side, other)
        if side == "document":
            return parts
        return TwoStage(parts=parts.parts, ranker=self.second(fitted))

    def second(self, fitted: FittedModel) -> Second:
        """Return the second stage of a fitted model."""
        arrays = {
            name.removeprefix(_RANKER): array
            for name, array in fitted.arrays.items()
            if name.startswith(_RANKER)
        }
        return Second(self.reranker(), arrays, feature_names(self.models()), self.depth)
