"""Several models, of which validation chooses one: for settings that depend on the corpus.

Views are made before a training, so that a search over them, or over kinds of models, is a choice
among models. Each is fitted in full; the one with the lowest rank loss on validation pairs is
returned as it is, so that a fitted model is never a `BestOf`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ssi_core.bounds import Count
from ssi_core.models.base import FitOptions, FittedModel, UnfitStart
from ssi_core.models.combined.parts import Parts
from ssi_core.resources import Cost
from ssi_core.types import Task


@dataclass(frozen=True)
class BestOf(Parts):
    """The model of the lowest validation rank loss among several; of equal ones the first."""

    name: ClassVar[str] = "best_of"
    without: ClassVar[frozenset[str]] = frozenset({"best_of"})
    validation_queries: Count = 500

    def __post_init__(self) -> None:
        """Refuse less than two models, and unknown ones."""
        super().__post_init__()
        if len(self.parts) < 2:
            raise ValueError(f"parts: {len(self.parts)} models; a choice has 2 or more")

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: the best so far is kept while the next one learns."""
        costs = self.costs(task, threads)
        return Cost(2 * max(cost.memory for cost in costs), sum(cost.disk for cost in costs))

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return the largest numbers of all parts."""
        dense, nonzeros = zip(*(model.vector_shape(task) for model in self.models()), strict=True)
        return max(dense), max(nonzeros)

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Fit the models one after the other and return the best; ``start`` is for its like."""
        models, start = self.models(), options.start
        if start is not None and start.model not in models:
            raise UnfitStart(f"start={start.model}; expected one of {', '.join(map(str, models))}")
        validator = options.judge(task, "valid", self.validation_queries)
        losses: list[float] = []
        best: FittedModel | None = None
        starts = [start if start is not None and model == start.model else None for model in models]
        for fit in self.learn_parts(task, rng, options, starts):
            losses.append(validator.rank_loss(fit))
            if best is None or losses[-1] < min(losses[:-1]):
                best = fit
        assert best is not None
        choice = differences(self.parts)[int(np.argmin(losses))]
        best.facts.update(choice=choice, rank_loss_by_part=losses)
        return best


def differences(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what tells each part from the others, as "view = sublinear:100".

    >>> differences([{"model": "tfidf", "view": "raw"}, {"model": "tfidf", "view": "sublinear"}])
    ['view = raw', 'view = sublinear']
    """
    flat = [dict(_flat(part)) for part in parts]
    names = dict.fromkeys(name for part in flat for name in part)
    telling = [name for name in names if len({str(part.get(name)) for part in flat}) > 1]
    return [", ".join(f"{n} = {part[n]}" for n in telling if n in part) for part in flat]


def _flat(part: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    # Settings of a part, and those of its own parts as "part 1 view".
    for name, value in part.items():
        if name == "parts":
            for number, inner in enumerate(value, 1):
                yield from _flat(inner, f"{prefix}part {number} ")
        else:
            yield f"{prefix}{name}", value
