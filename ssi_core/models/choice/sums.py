"""What `models.choice.auto` is made of beside trials: sums of models, and the kind of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ssi_core.models.base import FittedModel, Model
from ssi_core.models.choice.untrained import LSI_VIEW, is_shared
from ssi_core.models.combined.mixture import Mixture
from ssi_core.selection.validation_halves import ValidationHalves
from ssi_core.types import Task

_BETAS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def best_sum(
    task: Task, halves: ValidationHalves, trained: Sequence[FittedModel], base: FittedModel
) -> FittedModel:
    """Return the first training, or its sum with another model where that is better.

    The other one is the untrained model, or another training.
    """
    winner, best, sum_ = trained[0], halves.mean(trained[0]), None
    weights = [(1.0, beta) for beta in _BETAS]
    for other in (base, *trained[1:]):
        means = halves.means_of_sums(winner, other, weights, learned=True)
        n = int(np.argmax(means))
        if means[n] > best:
            best, sum_ = means[n], (other, weights[n][1])
    if sum_ is None:
        return winner
    other, beta = sum_
    parts = tuple({"model": fit.model.name, **parameters(fit.model)} for fit in (winner, other))
    return Mixture(parts, betas=_BETAS).sum_of(task, (winner, other), beta)


def parameters(model: Model) -> dict[str, Any]:
    """Return the hyper-parameters of a model by their names."""
    return {one.name: getattr(model, one.name) for one in fields(model)}


def kind_of(task: Task) -> str:
    """Return the kind of a task's queries, as `selection.expectation` knows it."""
    return "documents" if task.same or not is_shared(task, LSI_VIEW) else "queries"
