"""Tasks without what must not be seen: by the choice of settings, and by training."""

from __future__ import annotations

from dataclasses import replace

from ssi_core.tasks.cold import without_cold
from ssi_core.types import Pairs, Task


def without_test(task: Task) -> Task:
    """Return the task with nothing on its test side, in its folds and further tasks too."""
    return replace(
        task,
        test=Pairs.of(()),
        folds=tuple(map(without_test, task.folds)),
        auxiliary={name: without_test(other) for name, other in task.auxiliary.items()},
    )


def training_part(task: Task) -> Task:
    """Return what training is given of a task: training and validation pairs, texts, candidates.

    It is without the test side, other folds and marked pairs, and without cold documents: a model
    that learns from it knows nothing of them.
    """
    return without_test(replace(without_cold(task), folds=(), subsets={}))
