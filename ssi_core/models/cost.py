"""What fitting a model takes: memory at its peak, and the disk of its checkpoints.

Parameters are held three times, as they learn, as the best so far, and as validation reads them,
and are on disk twice for each of two checkpoints: the next is whole before the last one goes.
"""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from ssi_core.evaluation.evaluate import BLOCK_BYTES
from ssi_core.evaluation.memory import ranking_memory
from ssi_core.kernels.sparse import padded
from ssi_core.models import svd
from ssi_core.models.base import Model
from ssi_core.models.best_of import BestOf
from ssi_core.models.bilinear import Bilinear
from ssi_core.models.cl_lsi import ClLsi, mates_of
from ssi_core.models.half_transductive import HalfTransductive
from ssi_core.models.lsi import Lsi, LsiMixture
from ssi_core.models.mixture import Mixture
from ssi_core.models.multi_task import MultiTask
from ssi_core.models.softmax import Softmax
from ssi_core.models.term import Term
from ssi_core.models.word_pairs import WordPairs
from ssi_core.types import Task, Texts

FEWER = "Take fewer words or fewer dimensions."
"""What makes any of this smaller."""


class Cost(NamedTuple):
    """Bytes of memory that a fit adds at its peak, and of disk for its checkpoints."""

    memory: int
    disk: int


@singledispatch
def fit_cost(model: Model, task: Task, threads: int = 1) -> Cost:
    """Return what fitting a model on a task takes; nothing for one that only reads the task."""
    return Cost(0, 0)


@fit_cost.register
def _(model: Term, task: Task, threads: int = 1) -> Cost:
    size = _parameters(model, task) + _diagonal(model, task)
    dense, nonzeros = vector_shape(model, task)
    sides = task.queries, task.documents
    words = sum(_words(texts, view) for texts in sides for view in model.views())
    scratch = threads * 4 * (4 * words + 4 * padded(max(1, dense)))
    ranking = max(
        ranking_memory(
            task,
            side,
            queries=model.validation_queries,
            dense=dense,
            nonzeros=nonzeros,
            block=BLOCK_BYTES,
        )
        for side in ("train", "valid", "test")
    )
    if isinstance(model, WordPairs) and model.form == "hashed":
        scratch += 8 * model.buckets  # the load of each bucket
    if len(task.train) and np.ptp(task.train.weight) > 0:
        scratch += 150 * len(task.train)  # pairs as often as `training.sgd.by_weight` has them
    return Cost(3 * size + scratch + (3 if model.curves else 2) * ranking, 4 * size)


@fit_cost.register
def _(model: MultiTask, task: Task, threads: int = 1) -> Cost:
    # Texts of a further task may be rows of the task's, which are copied.
    copies = 8 * max(texts.matrix(model.view).nnz for texts in (task.queries, task.documents))
    one = fit_cost.dispatch(Term)(model, task, threads)
    return Cost(one.memory + copies * len(model.beside), one.disk)


@singledispatch
def _parameters(model: Term, task: Task) -> int:
    return 0


@_parameters.register
def _(model: Bilinear, task: Task) -> int:
    if model.form == "zero":
        return 0
    sides = (task.queries,) if model.tied else (task.queries, task.documents)
    row = padded(model.dimensions) + int(model.adagrad)
    return 4 * row * sum(_words(texts, model.view) for texts in sides)


@_parameters.register
def _(model: MultiTask, task: Task) -> int:
    # A further task that is not there is refused by the fit.
    words = {
        name: _words(texts, model.view)
        for objective in model.objectives()
        for name, texts in objective.sides(task.also.get(objective.task, task))
    }
    return 4 * padded(model.dimensions) * sum(words.values())


@_parameters.register
def _(model: HalfTransductive, task: Task) -> int:
    rows = _words(task.documents, model.view) + len(task.documents)
    return 4 * padded(model.dimensions) * rows


@_parameters.register
def _(model: WordPairs, task: Task) -> int:
    if model.form == "hashed":
        return 4 * model.buckets
    return 4 * _words(task.queries, model.view) * _words(task.documents, model.view)


def _diagonal(model: Term, task: Task) -> int:
    return 4 * _words(task.queries, model.diagonals_view) if model.diagonal == "learned" else 4


@fit_cost.register
def _(model: Lsi, task: Task, threads: int = 1) -> Cost:
    return Cost(_factorisation(model, task) + _tuning(model, task, kept=0), 0)


@fit_cost.register
def _(model: LsiMixture, task: Task, threads: int = 1) -> Cost:
    # The scores of both parts are held whole, and mixed.
    return Cost(_factorisation(model, task) + _tuning(model, task, kept=4), 0)


@fit_cost.register
def _(model: ClLsi, task: Task, threads: int = 1) -> Cost:
    return Cost(_mates(model, task) + _tuning(model, task, kept=0), 0)


@fit_cost.register
def _(model: Softmax, task: Task, threads: int = 1) -> Cost:
    words = sum(_words(texts, model.view) for texts in (task.queries, task.documents))
    size = 4 * model.dimensions * words
    ranking = max(
        ranking_memory(
            task,
            side,
            queries=model.validation_queries,
            dense=model.dimensions,
            nonzeros=0,
            block=BLOCK_BYTES,
        )
        for side in ("train", "valid")
    )
    # The maps, both averages of Adam, the best of these, and the gradients of a batch; the maps
    # that training starts from, and those that are judged.
    batch = 4 * model.batch * (4 * model.batch + 8 * model.dimensions)
    return Cost(max(_mates(model, task), 10 * size + batch + 2 * ranking), 4 * 3 * size)


@fit_cost.register
def _(model: Mixture, task: Task, threads: int = 1) -> Cost:
    parts = [fit_cost(part, task, threads) for part in model.models()]
    scores = 4 * 4 * model.tuning_queries * len(task.documents)
    return Cost(max(part.memory for part in parts) + scores, sum(part.disk for part in parts))


@fit_cost.register
def _(model: BestOf, task: Task, threads: int = 1) -> Cost:
    # The best so far is kept while the next one learns.
    parts = [fit_cost(part, task, threads) for part in model.models()]
    return Cost(2 * max(part.memory for part in parts), sum(part.disk for part in parts))


def vector_shape(model: Model, task: Task) -> tuple[int, int]:
    """Width of the dense part of a model's vectors, and non-zeros of the documents' sparse part.

    Upper bounds: not every view that a model reads is in its vectors.
    """
    if isinstance(model, Mixture):
        parts = [vector_shape(part, task) for part in model.models()]
        return sum(dense for dense, _ in parts), sum(nonzeros for _, nonzeros in parts)
    if isinstance(model, BestOf):
        parts = [vector_shape(part, task) for part in model.models()]
        return max(dense for dense, _ in parts), max(nonzeros for _, nonzeros in parts)
    nonzeros = sum(int(task.documents.matrix(view).nnz) for view in model.views())
    return _most(getattr(model, "dimensions", 0)), nonzeros


def _factorisation(model: Lsi | LsiMixture, task: Task) -> int:
    matrix = task.documents.matrix(model.view)
    return svd.memory_of(matrix.shape, matrix.nnz, _most(model.dimensions))


def _mates(model: ClLsi | Softmax, task: Task) -> int:
    words = sum(_words(texts, model.view) for texts in (task.queries, task.documents))
    n, longest = len(mates_of(task)), 0
    for texts in (task.queries, task.documents):
        rows = texts.matrix(model.view)
        longest += int(8 * n * rows.nnz / max(1, rows.shape[0]))
    return 2 * longest + svd.memory_of((n, words), longest // 8, _most(model.dimensions))


def _tuning(model: Lsi | LsiMixture | ClLsi, task: Task, *, kept: int) -> int:
    scores = 4 * model.tuning_queries * len(task.documents)
    ranking = ranking_memory(
        task,
        "train",
        queries=model.tuning_queries,
        dense=_most(model.dimensions),
        nonzeros=task.documents.matrix(model.view).nnz,
        block=BLOCK_BYTES,
    )
    return ranking + kept * scores


def _most(dimensions: int | tuple[int, ...]) -> int:
    return dimensions if isinstance(dimensions, int) else max(dimensions)


def _words(texts: Texts, view: str) -> int:
    return int(texts.matrix(view).shape[1])
