"""A share of a task's training pairs: what is learnt from less (Figure 2 of the journal paper)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from ssi_core.tasks.split import hash_titles, mix
from ssi_core.types import BadInput, Task


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
    places = mix(queries[rows[:, 0]] ^ mix(documents[rows[:, 1]]))
    kept = (places >> np.uint64(11)) * 2.0**-53 < share
    if not kept.any():
        raise BadInput(
            f"task {task.path}: none of its {len(rows)} training pairs is in a share of {share:g}. "
            "Take a larger share."
        )
    return replace(task, train=task.train.take(kept))
