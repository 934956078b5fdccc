"""Cold documents: known titles and texts that training never sees, as if they came later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.tasks.split import SIDES, hash_titles
from ssi_core.types import Int32, Pairs, Task, TextMatrix, Texts


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
    train, valid, test = (_pairs(getattr(task, side), of_queries, number) for side in SIDES)
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
