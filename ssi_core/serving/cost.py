"""Memory and disk of an index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ssi_core import resources
from ssi_core.models.base import Model
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import Vectors
from ssi_core.serving.index import Storage
from ssi_core.types import Task

_BLOCK = 16_384
"""Documents that are embedded at a time."""
_BASE = 30_000_000
"""Bytes of compiled kernels and libraries."""
_POSTING = 12
"""Bytes of a word of a document in an inverted index while it is made; 11 were measured."""


def index_cost(
    model: Model, task: Task, *, words: bool = True, storage: Storage = "float32"
) -> Cost:
    """Bytes of memory and disk that an index of a task's documents takes."""
    dense, nonzeros = model.vector_shape(task)
    n = len(task.documents)
    share = min(1.0, _BLOCK / max(1, n))
    rest = (2 if words else 1) * 8 * nonzeros + 100 * n
    size = 2 if storage == "float16" else 4
    return Cost(int(3 * share * (4 * n * dense + rest)), size * n * dense + rest)


def require_index(
    model: Model,
    task: Task,
    out: Path,
    *,
    words: bool,
    texts: Sequence[Path] = (),
    storage: Storage = "float32",
) -> None:
    """Check that there is room for an index."""
    cost = index_cost(model, task, words=words, storage=storage)
    disk = cost.disk + sum(part.stat().st_size for part in texts)
    fewer = "Leave the words out (--without-words)." if words else ""
    memory = _BASE + cost.memory
    resources.require("index", memory=memory, directory=out, disk=disk, remedy=fewer)


def require_search(documents: Vectors) -> None:
    """Refuse an exact search whose inverted index does not fit the memory."""
    nonzeros = 0 if documents.sparse is None else documents.sparse.nnz
    memory = _POSTING * nonzeros
    if memory > resources.memory_available():
        remedy = (
            "Run it where there is more memory, or make the index without words (--without-words)."
        )
        resources.require("search", memory=memory, remedy=remedy)
