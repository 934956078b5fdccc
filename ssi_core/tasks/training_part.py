"""Part of a task that a training is given: no test pair, no cold document, a share of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.tasks.split import SPLITS, hash_titles, mix
from ssi_core.types import BadInput, Int32, Pairs, Task, TextMatrix, Texts


def cold_documents(titles: pl.Series, share: float, *, seed: int) -> Int32:
    """Return the rows of a share of the documents by a keyed hash of their titles, ascending."""
    fraction = (hash_titles(titles, seed, b"cold", "titles") >> np.uint64(11)) * 2.0**-53
    return np.flatnonzero(fraction < share).astype(np.int32)


def without_cold(task: Task) -> Task:
    """Return the task without its cold documents, neither as documents nor as queries.

    No pair, no d-, no place among the candidates of validation, in further tasks as in its own.
    Without cold documents it is the task itself.
    """
    whole, cold = task.documents, task.documents.test_only
    if not len(cold):
        return task
    kept = np.setdiff1d(np.arange(len(whole)), cold)
    number = np.full(len(whole), -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    matrices = _Part(whole.matrices, kept)
    return _cut(task, Texts(whole.ids[kept], whole.titles[kept], matrices, whole.views), number)


def _cut(task: Task, documents: Texts, number: Int32) -> Task:
    """Return a task on some of its documents; ``number`` is their new rows, -1 of the others."""
    queries = task.queries
    of_queries = number if task.same else np.arange(len(queries), dtype=np.int32)
    if queries is task.documents:
        queries = documents
    elif task.same:
        part = _Part(queries.matrices, np.flatnonzero(number >= 0))
        queries = replace(documents, matrices=part, views=queries.views)
    train, valid, test = (_pairs(getattr(task, side), of_queries, number) for side in SPLITS)
    return replace(
        task,
        queries=queries,
        documents=documents,
        train=train,
        valid=valid,
        test=test,
        exclude=task.exclude[of_queries >= 0][:, number >= 0],
        pool=_rows(task.pool, number),
        valid_pool=_rows(task.valid_pool, number),
        auxiliary={name: _cut(one, documents, number) for name, one in task.auxiliary.items()},
    )


def _pairs(pairs: Pairs, of_queries: Int32, number: Int32) -> Pairs:
    rows = np.column_stack([of_queries[pairs.rows[:, 0]], number[pairs.rows[:, 1]]])
    kept = (rows >= 0).all(axis=1)
    return replace(pairs.take(kept), rows=rows[kept])


def _rows(rows: Int32 | None, number: Int32) -> Int32 | None:
    if rows is None:
        return None
    known: Int32 = number[rows]
    return known[known >= 0]


class _Part(Mapping[str, TextMatrix]):
    """Some rows of matrices; each is copied once, when it is asked for first."""

    def __init__(self, whole: Mapping[str, TextMatrix], rows: NDArray[np.int64]) -> None:
        self._whole, self._rows = whole, rows
        self._copied: dict[str, TextMatrix] = {}

    def __getitem__(self, view: str) -> TextMatrix:
        if view not in self._copied:
            self._copied[view] = self._whole[view][self._rows]
        return self._copied[view]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


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


def share_of_pairs(task: Task, share: float) -> Task:
    """Return the task with a share of its training pairs, by a keyed hash of their two ids.

    Shares are nested, for a pair has one place in (0, 1] for ever: all of the 1 % are in the 4 %.
    No seed moves them, as none moves the split.

    Parameters
    ----------
    task : `Task`
        Task with all training pairs.
    share : float
        0 < share <= 1; 1 is the task itself.

    Raises
    ------
    BadInput
        No training pair is in the share.
    """
    if share == 1:
        return task
    queries = hash_titles(task.queries.ids.cast(pl.String), 0, b"share query", "queries")
    documents = hash_titles(task.documents.ids.cast(pl.String), 0, b"share document", "documents")
    rows = task.train.rows
    hashes = mix(queries[rows[:, 0]] ^ mix(documents[rows[:, 1]]))
    kept = (hashes >> np.uint64(11)) * 2.0**-53 < share
    if not kept.any():
        raise BadInput(
            f"task {task.path}: none of its {len(rows)} training pairs is in a share of {share:g}. "
            "Take a larger share."
        )
    return replace(task, train=task.train.take(kept))
