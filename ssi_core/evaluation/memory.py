"""Memory that ranking takes: vectors of queries and candidates, postings, blocks of scores."""

from __future__ import annotations

import numpy as np

from ssi_core.evaluation.candidates import Side
from ssi_core.evaluation.ranking import BLOCK_BYTES
from ssi_core.types import Int32, Task

_PAIR = 60
"""Bytes for a relevant or excluded pair while the candidates are chosen; 47 were measured."""

_NONZERO = 20
"""Bytes for a non-zero of the candidates: a copy of the rows, their postings, what is kept."""


def ranking_memory(
    task: Task,
    side: Side,
    *,
    queries: int,
    dense: int,
    nonzeros: int,
    block: int = BLOCK_BYTES,
    further: int = 0,
) -> int:
    """Bytes at most, on top of the task, that ranking the candidates of a side takes.

    Parameters
    ----------
    queries : int
        How many are ranked at most.
    dense : int
        Width N of the dense part of vectors; 0: none.
    nonzeros : int
        Entries of the sparse part of all documents; 0: none.
    block : int
        Bytes of scores that are worked on at a time.
    further : int
        Documents that are embedded besides the candidates.
    """
    pairs = {name: getattr(task, name).rows for name in ("train", "valid", "test")}
    m = len(task.queries), len(task.documents)
    q = min(queries, len(pairs[side]), m[0])
    pool = task.pool if side == "test" else task.valid_pool
    candidates = m[1] if pool is None else min(m[1], len(pool) + _most_pairs(pairs[side], q))
    if getattr(task, side).listed:
        judged = len(pairs[side]) + len(getattr(task, side).not_relevant)
        candidates = min(m[1], judged)
    embedded = min(m[1], candidates + further)
    share = embedded / max(1, m[1])
    scores = min(block, 4 * q * candidates)
    known = sum(map(len, pairs.values())) + task.exclude.nnz
    # Vectors are held once more while rows of them are taken.
    vectors = 2 * 4 * dense * (q + embedded)
    return int(vectors + _NONZERO * share * nonzeros + 3 * scores + _PAIR * known)


def _most_pairs(rows: Int32, queries: int) -> int:
    """Return the largest number of pairs that so many queries can have."""
    counts = np.bincount(rows[:, 0])
    return int(np.sort(counts)[max(0, len(counts) - queries) :].sum())
