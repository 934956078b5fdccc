"""Tasks without what must not be seen: by the choice of settings, and by training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ssi_core.tasks.cold import without_cold
from ssi_core.types import Pairs, Task


def without_test(task: Task) -> Task:
    """Return the task with no test pair and no test slate, in its folds and further tasks too."""
    return replace(
        task,
        test=Pairs.of(()),
        slates={side: slates for side, slates in task.slates.items() if side != "test"},
        folds=tuple(map(without_test, task.folds)),
        auxiliary={name: without_test(other) for name, other in task.auxiliary.items()},
    )


def training_part(task: Task) -> Task:
    """Return what training is given of a task: training and validation pairs, texts, candidates.

    It is without test pairs, test slates, other folds, marked pairs and judgements of the test, and
    without cold documents: a model that learns from it knows nothing of them.
    """
    nothing = np.empty((0, 2), np.int32)
    part = replace(without_cold(task), folds=(), subsets={}, not_relevant=nothing)
    return without_test(part)
