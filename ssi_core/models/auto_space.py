"""What `auto` tries: models that learn nothing from pairs, and settings of those that do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np

from ssi_core.models.base import FittedModel, Model, parse
from ssi_core.models.bilinear import Bilinear
from ssi_core.models.bm25 import Bm25
from ssi_core.models.lsi import LsiMixture
from ssi_core.models.mixture import Mixture
from ssi_core.models.tfidf import TfIdf
from ssi_core.types import Task

Settings = Mapping[str, Any]

_DIAGONALS: Sequence[Settings] = (
    {"diagonal": "learned", "diagonal_view": "sublinear"},
    {"diagonal": "learned", "diagonal_view": "bm25"},
    {"diagonal": "alpha", "diagonal_view": "bm25", "alpha": 1.0},
    {"diagonal": "alpha", "diagonal_view": "bm25", "alpha": 3.0},
)
_VIEWS: Sequence[Settings] = ({"view": "sublinear:50"}, {"view": "sublinear:200"})
_MARGINS: Sequence[Settings] = ({"margin": 0.1}, {"margin": 0.3}, {"margin": 0.03})
_RATES: Sequence[Settings] = ({"rates": (0.03,)}, {"rates": (0.1,)}, {"rates": (0.01,)})
_POWERS: Sequence[Settings] = (
    {"negatives_power": 0.0},
    {"negatives_power": 0.5},
    {"negatives_power": 1.0},
)
_SAME: Settings = {
    "init_std": 0.01,
    "diagonal_rate": 20.0,
    "negatives": 8,
    "epoch": 50_000,
    "rate_by": "validation",
}
_BETAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def untrained() -> tuple[Model, ...]:
    """Return the models that learn nothing from pairs, but for the numbers of a mixture."""
    return (
        Bm25(),
        TfIdf("bm25"),
        TfIdf("raw"),
        TfIdf("sublinear"),
        LsiMixture("sublinear", "bm25", (100, 300)),
        LsiMixture("sublinear", "sublinear", (100, 300)),
    )


def every() -> Iterator[Settings]:
    """Yield all settings: the shipped ones, ``W = D``, and U'V with all else."""
    low_rank = product(_DIAGONALS, _VIEWS, _MARGINS, _RATES, _POWERS)
    yield _joined(next(low_rank))
    for parts in product(_DIAGONALS[:2], _RATES):
        yield {"form": "zero", "margin": 0.1, **_joined(parts)}
    yield from map(_joined, low_rank)


def _joined(parts: Sequence[Settings]) -> Settings:
    return {name: value for part in parts for name, value in part.items()}


def first(dimensions: int) -> Settings:
    """Return the settings that are tried in any case."""
    return {**next(every()), "dimensions": dimensions}


def drawn(number: int, dimensions: int, task: Task, seed: int) -> list[Settings]:
    """Return settings to begin with: the first, and a draw of the others."""
    settings = list(every())
    rng = np.random.default_rng(seed)
    others = rng.permutation(np.arange(1, len(settings)))[: max(0, number - 1)]
    always: Settings = {"dimensions": dimensions}
    if task.train.weighing == "shown":
        always = {**always, "against": "shown", "negatives_power": 0.0}
    return [{**settings[place], **always} for place in (0, *others.tolist())]


def model_of(settings: Settings) -> Bilinear:
    """Return the model of some settings."""
    model = parse(Bilinear, {**_SAME, **settings})
    assert isinstance(model, Bilinear)
    return model


def told(settings: Settings) -> dict[str, Any]:
    """Return what tells settings from others, as JSON has it."""
    return {n: list(v) if isinstance(v, tuple) else v for n, v in settings.items()}


def mixtures(task: Task, trained: FittedModel, other: FittedModel) -> Iterator[FittedModel]:
    """Yield the sums of a trained and an untrained model, with each weight of the second."""
    parts = tuple({"model": fit.model.name, **_parameters(fit.model)} for fit in (trained, other))
    mixture = Mixture(parts, betas=_BETAS)
    yield from (mixture.sum_of(task, (trained, other), beta) for beta in mixture.betas)


def _parameters(model: Model) -> dict[str, Any]:
    return {field.name: getattr(model, field.name) for field in fields(model)}


def label(model: Model) -> str:
    """Return a model in words: its name, and what is not as it is by default.

    >>> label(TfIdf("sublinear"))
    'tfidf view=sublinear'
    """
    if isinstance(model, Mixture):
        return " + ".join(label(part) for part in model.models())
    default = {field.name: field.default for field in fields(model)}
    told = (
        f"{name}={value}"
        for name, value in _parameters(model).items()
        if value != default[name] and name not in _SAME and name != "budget"
    )
    return " ".join([model.name, *told])
