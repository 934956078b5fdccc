"""Whether the files of a task directory are of one making."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ssi_core import files
from ssi_core.features.views import TextView
from ssi_core.types import BadInput, Task


def check_sizes(task: Task, where: Path) -> None:
    """Refuse a task whose files do not fit together: kernels would read past their ends."""
    for side in (task.queries, task.documents):
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
