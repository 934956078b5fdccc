"""Ranks of the relevant documents of queries, from scores in blocks, and the memory they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ssi_core.evaluation.candidates import Candidates, Side
from ssi_core.evaluation.measures import Ranks, count
from ssi_core.scoring.scorer import COLUMNS_BYTES, Scorer
from ssi_core.scoring.vectors import Several, Vectors
from ssi_core.types import Float32, Int32, Task

BLOCK_BYTES = 64 << 20


def rank(
    score: Callable[[int, int], Float32],
    chosen: Candidates,
    inspect: Callable[[int, Float32], None] | None = None,
) -> Ranks:
    """Rank the relevant documents of all queries, in blocks.

    Parameters
    ----------
    score : callable
        ``score(first, last)`` gives the scores of some of ``chosen.queries`` with
        ``chosen.documents``, which are overwritten.
    chosen : `Candidates`
        Queries, and the documents that each is ranked over.
    inspect : callable or None
        ``inspect(first, scores)`` is shown each block after its ranks are counted.
    """
    parts = []
    for first, last in blocks(len(chosen.queries), len(chosen.documents)):
        scores = score(first, last)
        parts.append(_ranked(scores, chosen, first, last))
        if inspect is not None:
            inspect(first, scores)
    return _joined(parts, chosen)


def rank_sums(
    one: Callable[[int, int], Float32],
    other: Callable[[int, int], Float32],
    weights: Sequence[tuple[float, float]],
    chosen: Candidates,
) -> list[Ranks]:
    """Rank by each weighted sum of two scores, each of which is computed once; see `rank`."""
    sums: list[list[Ranks]] = [[] for _ in weights]
    for first, last in blocks(len(chosen.queries), len(chosen.documents)):
        left, right = one(first, last), other(first, last)
        for parts, (a, b) in zip(sums, weights, strict=True):
            scores = np.float32(a) * left + np.float32(b) * right
            parts.append(_ranked(scores, chosen, first, last))
    return [_joined(parts, chosen) for parts in sums]


def _ranked(scores: Float32, chosen: Candidates, first: int, last: int) -> Ranks:
    relevant = chosen.relevant.part(first, last)
    span = slice(chosen.relevant.start[first], chosen.relevant.start[last])
    excluded = chosen.excluded_of(first, last)
    return count(scores, chosen.outside, excluded, relevant, chosen.grade[span])


def _joined(parts: Sequence[Ranks], chosen: Candidates) -> Ranks:
    names = ("rank", "above", "tied", "grade", "irrelevant")
    joined = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Ranks(chosen.relevant.start, *joined)


def blocks(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return the bounds of blocks of rows whose float32 scores fill at most `BLOCK_BYTES`."""
    size = max(1, BLOCK_BYTES // max(1, 4 * columns))
    return [(first, min(first + size, rows)) for first in range(0, rows, size)]


def scores_of(
    queries: Vectors, documents: Vectors, chosen: Candidates, threads: int
) -> Callable[[int, int], Float32]:
    """Return what scores the queries ``first:last`` of `Candidates` with their documents."""
    scorer = Scorer(documents, threads=threads)

    def score(first: int, last: int) -> Float32:
        mask = chosen.mask(first, last) if isinstance(queries, Several) else None
        return scorer.score(queries.take(slice(first, last)), mask)

    return score


_PAIR = 60
"""Bytes for a relevant or excluded pair while the candidates are chosen; 47 were measured."""

_NONZERO = 20
"""Bytes for a non-zero of the candidates: a copy of the rows, their postings, what is kept."""


def ranking_memory(
    task: Task,
    side: Side,
    *,
    queries: int | None,
    dense: int,
    nonzeros: int,
    block: int = BLOCK_BYTES,
    further: int = 0,
) -> int:
    """Bytes at most, on top of the task, that ranking the candidates of a side takes.

    Parameters
    ----------
    queries : int or None
        How many are ranked at most; None: all.
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
    q = min(m[0] if queries is None else queries, len(pairs[side]), m[0])
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
    # Of frequent words a quarter of the column are entries, in the mean.
    columns = min(COLUMNS_BYTES, 4 * 4 * share * nonzeros)
    return int(vectors + _NONZERO * share * nonzeros + columns + 3 * scores + _PAIR * known)


def _most_pairs(rows: Int32, queries: int) -> int:
    """Return the largest number of pairs that so many queries can have."""
    counts = np.bincount(rows[:, 0])
    return int(np.sort(counts)[max(0, len(counts) - queries) :].sum())
