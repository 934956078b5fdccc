"""Passes of EM over the training pairs, and what validation chooses after them."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from ssi_core.models.base import FitOptions, FittedModel, Judge
from ssi_core.models.bilinear.trained import same_space
from ssi_core.training.descend import Trainee, descend
from ssi_core.types import BadInput, Task
from ssi_core.views.names import COUNTS


class Passing(Trainee, Protocol):
    """A training by passes."""

    def fitted(self) -> FittedModel:
        """Return the model as it stands, with the first of its variants."""
        ...


def judge_of(task: Task, queries: int, options: FitOptions) -> Judge:
    """Return what measures a model of counts on validation.

    Raises
    ------
    BadInput
        The task has no training pair, or its two sides are read in different words.
    """
    if len(task.train) == 0:
        raise BadInput(f"task {task.path}: no training pair; nothing can be learnt from it.")
    same_space(task, COUNTS, "the words of queries and documents")
    return options.judge(task, "valid", queries)


def go_over(
    training: Passing, pairs: int, passes: int, judge: Judge, options: FitOptions
) -> FittedModel:
    """Train by passes over all pairs; keep the pass and the variant that are best on validation.

    Parameters
    ----------
    training : Passing
        Begun.
    pairs, passes : int
        Training pairs, and how often to go over them.
    judge : Validator
        Its rank loss chooses.
    options : FitOptions
        How the training goes.
    """
    progress = descend(
        training,
        epoch=pairs,
        budget=passes * pairs,
        patience=passes,
        watch=options.watch,
        checkpoint=options.checkpoint,
    )
    plain = training.fitted()
    facts = {
        **plain.facts,
        "passes": progress.best_at // pairs,
        "pairs": pairs,
        "seconds": progress.seconds,
        "threads": options.threads,
    }
    variants = plain.model.variants(replace(plain, facts=facts))
    # Each is judged before the next is asked for: they may share what they compute.
    judged = [(judge.rank_loss(one), one) for one in variants]
    loss, best = judged[int(np.argmin([loss for loss, _ in judged]))]
    return replace(best, facts=best.facts | {"validation_rank_loss": loss})
