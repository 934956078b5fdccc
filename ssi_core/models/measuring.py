"""Memory that measuring a model takes: stated before it starts, refused if too large."""

from __future__ import annotations

from ssi_core import resources
from ssi_core.evaluation.candidates import ranking_memory
from ssi_core.models.base import Model
from ssi_core.remedies import typed
from ssi_core.types import Task

_TUPLES = 100_000
"""Default of `evaluate`."""
_BASE = 100_000_000
"""Bytes of compiled kernels and libraries."""
_NOT_QUERIES = (
    "One query would take as much: the pairs and the words of the task do. Take fewer words or a "
    "collection with fewer links, or run it where there is more memory."
)


def evaluation_memory(model: Model, task: Task, queries: int | None = None) -> int:
    """Bytes, at most, that evaluating a model takes, on all queries of the test or on some."""
    dense, nonzeros = model.vector_shape(task)
    return ranking_memory(
        task,
        "test",
        queries=queries,
        dense=dense,
        nonzeros=nonzeros,
        further=2 * _TUPLES,
        in_parts=True,
    )


def require_evaluation(model: Model, task: Task, queries: int | None = None) -> None:
    """State, or refuse, an evaluation."""
    memory, least = (_BASE + evaluation_memory(model, task, n) for n in (queries, 1))
    helps = least <= resources.memory_available()
    remedy = f"Ask fewer: {typed('max-queries', 100)}" if helps else _NOT_QUERIES
    resources.require("evaluation", memory=memory, remedy=remedy)
