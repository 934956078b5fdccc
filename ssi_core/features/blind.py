"""A task without its test side, for whatever chooses settings."""

from __future__ import annotations

from dataclasses import replace

from ssi_core.types import Pairs, Task


def without_test(task: Task) -> Task:
    """Return the task with no test pair and no test slate, in its folds and further tasks too."""
    return replace(
        task,
        test=Pairs.of(()),
        slates={side: slates for side, slates in task.slates.items() if side != "test"},
        folds=tuple(map(without_test, task.folds)),
        also={name: without_test(other) for name, other in task.also.items()},
    )
