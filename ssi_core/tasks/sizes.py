"""Check that the files of a task directory belong together."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ssi_core import files
from ssi_core.types import BadInput, Int32, Judged, Task
from ssi_core.views.text_view import TextView


def check_sizes(task: Task, where: Path) -> None:
    """Refuse a task whose files do not fit together: kernels would read past their ends."""
    # Rows that are taken from other texts, when they are asked for, are not asked for here.
    texts = (task.queries, task.documents)
    for side in (one for one in texts if isinstance(one.matrices, dict)):
        for name, view in side.views.items():
            rows, columns = side.matrices[name].shape
            words = view.width if isinstance(view, TextView) else columns
            if (rows, columns) != (len(side), words):
                raise BadInput(
                    f"{where}: the view {name!r} has {rows} texts and {columns} words, its lists "
                    f"have {len(side)} and {words}. {files.MAKE_AGAIN}"
                )
    sizes = (len(task.queries), len(task.documents))
    for name, pairs in (("train", task.train), ("valid", task.valid), ("test", task.test)):
        if not (_of_both(pairs.rows, sizes) and _of_both(pairs.not_relevant, sizes)):
            raise BadInput(
                f"{where}: the pairs {name!r} are not of {sizes[0]} queries and {sizes[1]} "
                f"documents. {files.MAKE_AGAIN}"
            )
        if not _fit(pairs.shown, *sizes):
            raise BadInput(
                f"{where}: what was shown ({name}) is not of {sizes[0]} queries and {sizes[1]} "
                f"documents. {files.MAKE_AGAIN}"
            )


def _of_both(rows: Int32, sizes: tuple[int, int]) -> bool:
    """Tell whether pairs are rows of so many queries and documents."""
    fits = rows.ndim == 2 and rows.shape[1] == 2 and rows.dtype == np.int32
    return fits and (not len(rows) or bool(rows.min() >= 0 and np.all(rows.max(axis=0) < sizes)))


def _fit(lists: Judged, queries: int, documents: int) -> bool:
    """Tell whether lists are of so many queries and documents."""
    start, items = lists.start, lists.documents
    if len(start) != len(lists) + 1 or start[0] != 0 or start[-1] != len(items):
        return False
    rises = bool(np.all(np.diff(start) >= 0) and np.all(np.diff(lists.query) >= 0))
    inside = _below(lists.query, queries) and _below(items, documents)
    return rises and inside and len(lists.grade) == len(items)


def _below(rows: Int32, number: int) -> bool:
    return not len(rows) or bool(rows.min() >= 0 and rows.max() < number)
