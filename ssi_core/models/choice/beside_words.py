"""The model of documented settings; of known-item queries, beside an order of words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ssi_core.bounds import Mean
from ssi_core.estimator import parse
from ssi_core.models.base import FitOptions, FittedModel, Model
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.trained import HARD
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.choice.sums import parameters
from ssi_core.models.combined.own_words import wordings
from ssi_core.models.combined.residual import Residual
from ssi_core.selection.star import Settings
from ssi_core.selection.validation_halves import ValidationHalves
from ssi_core.types import Task
from ssi_core.views.names import FIELDS

ONE_BY_ONE: Settings = {"step": "triple"}
SETTINGS: Settings = {"decays": 0, "rates": (0.03,), **ONE_BY_ONE}
"""What words lack is learned soon, at a low rate."""
_SEVERAL = 2
"""Relevant documents of a query, in the mean, from which on it looks for no single one."""


def learn_documented(
    settings: Mapping[str, Any],
    halves: ValidationHalves,
    words: FittedModel,
    seed: int,
    options: FitOptions,
) -> FittedModel:
    """Train the model of the documented settings; another process, or an earlier run, may.

    Where people type to find one document, and documents have fields, it is the latent part of such
    a model beside BM25F.

    Parameters
    ----------
    settings : mapping
        Settings of a `Bilinear`.
    halves : ValidationHalves
        What judges; the model learns from its task.
    words : FittedModel
        Best model that learns nothing.
    seed : int
        Seed of the training.
    options : FitOptions
        How `Auto` is trained, whose checkpoint has one for this model.
    """
    task, rng = halves.learning, np.random.default_rng(seed)
    state = options.checkpoint and options.checkpoint / "documented"
    of_its_own = replace(options, checkpoint=state, watch=None)
    of_shown = {"against": "shown", "stop_by": "rank_loss", **ONE_BY_ONE}
    changes = of_shown if task.train.weighing == "shown" else {}
    model = parse(Bilinear, {**settings, **changes})
    if not (isinstance(words.model, Bm25F) and is_known_item(task)):
        return model.learn(task, rng, of_its_own)
    residual = beside_words(words.model, model, task, halves.measure)
    return residual.beside(task, words, rng, of_its_own)


def documented(task: Task, latent: Model, measure: Mean) -> Model:
    """Return the model of documented settings for a task whose best order of words is not known."""
    if FIELDS not in task.documents.views or not is_known_item(task):
        return latent
    return beside_words(Bm25F.tuned(measure=measure), latent, task, measure)


def is_known_item(task: Task) -> bool:
    """Tell whether queries look for one document each, as titles and words of links do."""
    queries = len(np.unique(task.train.rows[:, 0]))
    return not task.same and len(task.train) < _SEVERAL * queries


def beside_words(words: Model, latent: Model, task: Task, measure: Mean) -> Residual:
    """Return a model of words with a latent part, which may learn from hard documents.

    Where words of links are asked, a random d- is seldom wrong beside it.
    """
    hard = {"against": HARD} if len(wordings(task).rows) else {}
    first = {"model": words.name, **parameters(words)}
    second = {"model": latent.name, **parameters(latent), **SETTINGS, **hard}
    return Residual((first, second), measure=measure)
