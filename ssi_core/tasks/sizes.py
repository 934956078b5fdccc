"""Check that the files of a task directory belong together."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ssi_core import files
from ssi_core.types import BadInput, Int32, Int64, Task
from ssi_core.views.text_view import TextView


def check_sizes(task: Task, where: Path) -> None:
    """Refuse a task whose files do not fit together: kernels would read past their ends."""
    # Rows that are taken from other texts, when they are asked for, are not asked for here.
    texts = (task.queries, task.documents)
    for side in (one for one in texts if isinstance(one.matrices, dict)):
        for name, view in side.views.items():
            rows, columns = side.matrices[name].shape
            words = len(view.words) if isinstance(view, TextView) else columns
            if (rows, columns) != (len(side), words):
                raise BadInput(
                    f"{where}: the view {name!r} has {rows} texts and {columns} words, its lists "
                    f"have {len(side)} and {words}. {files.MAKE_AGAIN}"
                )
    sizes = (len(task.queries), len(task.documents))
    for name, pairs in (("train", task.train), ("valid", task.valid), ("test", task.test)):
        ends = pairs.rows
        fits = ends.ndim == 2 and ends.shape[1] == 2 and ends.dtype == np.int32
        if not fits or (len(ends) and (ends.min() < 0 or np.any(ends.max(axis=0) >= sizes))):
            raise BadInput(
                f"{where}: the pairs {name!r} are not of {sizes[0]} queries and {sizes[1]} "
                f"documents. {files.MAKE_AGAIN}"
            )
    for name, slates in task.slates.items():
        whole = _lists(slates.start, slates.shown, len(slates), sizes[1])
        rows = not len(slates) or (slates.query.min() >= 0 and slates.query.max() < sizes[0])
        if not whole or not rows or len(slates.clicked) != len(slates.shown):
            raise BadInput(
                f"{where}: the slates {name!r} are not of {sizes[0]} queries and {sizes[1]} "
                f"documents. {files.MAKE_AGAIN}"
            )
    if task.shown and not _lists(task.shown.start, task.shown.documents, *sizes):
        raise BadInput(
            f"{where}: what was shown is not of {sizes[0]} queries and {sizes[1]} documents. "
            f"{files.MAKE_AGAIN}"
        )


def _lists(start: Int64, items: Int32, rows: int, width: int) -> bool:
    """Tell whether there is a list of numbers below ``width`` for each row."""
    if len(start) != rows + 1 or start[0] != 0 or start[-1] != len(items):
        return False
    rises = bool(np.all(np.diff(start) >= 0))
    return rises and (not len(items) or bool(items.min() >= 0 and items.max() < width))
