"""Models that are made of others, by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ssi_core.arrays import ArraySpec, ArraySpecs, prefixed
from ssi_core.estimator import Sizes, parse
from ssi_core.models.base import FitOptions, FittedModel, Model, UnfitStart
from ssi_core.resources import Cost
from ssi_core.strict import instead
from ssi_core.types import Task, Watch


@dataclass(frozen=True)
class Parts(Model):
    """Base of models with parts."""

    without: ClassVar[frozenset[str]]
    """Names of models that are no parts of this one."""
    parts: tuple[Mapping[str, Any], ...]

    def __post_init__(self) -> None:
        """Refuse unknown models; JSON has no tuples, so that lists become such."""
        super().__post_init__()
        parts = [
            {name: tuple(v) if isinstance(v, list) else v for name, v in part.items()}
            for part in self.parts
        ]
        object.__setattr__(self, "parts", tuple(parts))
        self.models()

    def models(self) -> tuple[Model, ...]:
        """Build the models of the parts; ValueError names the known ones."""
        from ssi_core.models import MODELS  # which holds the models that have parts

        models = []
        for part in self.parts:
            parameters = dict(part)
            name = parameters.pop("model", None)
            if name not in MODELS or name in self.without:
                known = sorted(set(MODELS) - self.without)
                raise ValueError(f"parts: no model {instead(str(name), known)}")
            models.append(parse(MODELS[name], parameters))
        return tuple(models)

    def kinds(self) -> tuple[type[Model], ...]:
        """Return its own class, and those of all parts."""
        return (type(self), *(kind for model in self.models() for kind in model.kinds()))

    def views(self) -> set[str]:
        """Views of all parts."""
        return set().union(*(model.views() for model in self.models()))

    @property
    def reads_fields(self) -> bool:
        """Tell whether a part does."""
        return any(model.reads_fields for model in self.models())

    @property
    def reads_phrases(self) -> bool:
        """Tell whether a part does."""
        return any(model.reads_phrases for model in self.models())

    @property
    def reads_text(self) -> bool:
        """Tell whether all parts do."""
        return all(model.reads_text for model in self.models())

    @property
    def repeats(self) -> bool:
        """Tell whether all parts do."""
        return all(model.repeats for model in self.models())

    def unserved(self) -> str | None:
        """Return why a part ranks no typed text."""
        return next(filter(None, (model.unserved() for model in self.models())), None)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the arrays of all parts, under names of their own."""
        specs: dict[str, ArraySpec] = {}
        for number, model in enumerate(self.models()):
            specs |= prefixed(model.array_specs(sizes), _prefix(number))
        return specs

    def costs(self, task: Task, threads: int) -> list[Cost]:
        """Return what fitting each part takes."""
        return [model.cost(task, threads) for model in self.models()]

    def learn_parts(
        self,
        task: Task,
        rng: np.random.Generator,
        options: FitOptions,
        starts: Sequence[FittedModel | None],
    ) -> Iterator[FittedModel]:
        """Train the parts one after the other, each with its start; see `Model.learn`."""
        for number, (model, start) in enumerate(zip(self.models(), starts, strict=True), 1):
            kept = options.checkpoint and options.checkpoint / f"part_{number}"
            watch = _named(options.watch, number)
            yield model.learn(
                task, rng, replace(options, start=start, watch=watch, checkpoint=kept)
            )


def arrays_of(parts: Sequence[FittedModel]) -> dict[str, NDArray[Any]]:
    """Return the arrays of fitted parts under names of their own; see `fitted_parts`."""
    return {
        f"{_prefix(number)}{name}": array
        for number, part in enumerate(parts)
        for name, array in part.arrays.items()
    }


def fitted_parts(fitted: FittedModel) -> list[FittedModel]:
    """Return the models that a fitted model was made of.

    Raises
    ------
    UnfitStart
        The model has no parts.
    """
    model = fitted.model
    if not isinstance(model, Parts):
        raise UnfitStart(f"start={model}; expected a model that has parts")
    models = model.models()
    facts = fitted.facts.get("parts", [{}] * len(models))
    parts = []
    for number, one in enumerate(models):
        prefix = _prefix(number)
        arrays = {
            name.removeprefix(prefix): array
            for name, array in fitted.arrays.items()
            if name.startswith(prefix)
        }
        views = fitted.query_views, fitted.document_views
        parts.append(FittedModel(one, arrays, *views, facts[number]))
    return parts


def _prefix(number: int) -> str:
    return f"part_{number + 1}_"


def _named(watch: Watch | None, number: int) -> Watch | None:
    """Return a watch that is told the metrics of a part: ``val/map`` as ``val/part_1/map``."""
    if watch is None:
        return None

    def of_part(step: int, metrics: Mapping[str, float]) -> None:
        split = ((*name.partition("/"), value) for name, value in metrics.items())
        watch(step, {f"{kind}/part_{number}/{name}": value for kind, _, name, value in split})

    return of_part
