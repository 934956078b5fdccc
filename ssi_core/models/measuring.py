"""Memory that measuring a model takes: stated before it starts, refused if too large."""

from __future__ import annotations

from ssi_core import resources
from ssi_core.evaluation.memory import ranking_memory
from ssi_core.models.base import Model
from ssi_core.types import Task

_QUERIES, _TUPLES = 1000, 100_000
"""Defaults of `evaluate`."""


def evaluation_memory(model: Model, task: Task, queries: int = _QUERIES) -> int:
    """Bytes, at most, that evaluating a model on the test side takes."""
    dense, nonzeros = model.vector_shape(task)
    return ranking_memory(
        task,
        "test",
        queries=queries,
        dense=dense,
        nonzeros=nonzeros,
        further=2 * _TUPLES,
    )


def require_evaluation(model: Model, task: Task, queries: int = _QUERIES) -> None:
    """State, or refuse, an evaluation."""
    memory = evaluation_memory(model, task, queries)
    resources.require("evaluation", memory=memory, remedy="Ask fewer --queries.")
