"""Candidates: what each query of a side ranks, what is relevant of it, and the memory it takes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssi_core.scoring.scorer import COLUMNS_BYTES
from ssi_core.types import Float32, Int32, Int64, Pairs, Task

Side: TypeAlias = Literal["train", "valid", "test"]
BLOCK_BYTES = 64 << 20
"""Of scores that are ranked at a time."""
_FEWEST = 10_000
"""Documents outside of the pool that queries may have without being divided."""

_SEEN: dict[str, tuple[str, ...]] = {"train": (), "valid": ("train",), "test": ("train", "valid")}

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lists:
    """A list of numbers per query: those of query i are ``items[start[i]:start[i + 1]]``."""

    start: Int64
    items: Int32

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def lengths(self) -> Int64:
        """The length of each list."""
        return np.diff(self.start)

    def of(self, i: int) -> Int32:
        """Return the list of query i."""
        return self.items[self.start[i] : self.start[i + 1]]

    def part(self, first: int, last: int) -> Lists:
        """Return the lists of the queries ``first:last``."""
        start = self.start[first : last + 1]
        return Lists(start - start[0], self.items[start[0] : start[-1]])


@dataclass(frozen=True)
class Candidates:
    """Candidates and relevant documents of n queries.

    A query's candidates are the common columns without its excluded ones, and its relevant ones; or
    those of a list of its own.

    Attributes
    ----------
    queries : int32 (n,)
        Rows of the task's queries, ascending.
    documents : int32 (m,)
        Rows of the task's documents, ascending: the columns.
    outside : int32
        Columns that are not common: candidates only where they are relevant.
    excluded : Lists
        Columns that are no candidates of a query, ascending, never relevant.
    relevant : Lists
        Columns that are relevant to a query, ascending.
    grade : float32
        Aligned to ``relevant.items``.
    listed : Lists or None
        Columns that are the candidates of a query, ascending; None: the common ones.
    """

    queries: Int32
    documents: Int32
    outside: Int32
    excluded: Lists
    relevant: Lists
    grade: Float32
    listed: Lists | None = None

    @property
    def is_divided(self) -> bool:
        """Whether there are several `parts`."""
        return self.listed is None and len(self.outside) > self._most_outside

    @property
    def _most_outside(self) -> int:
        """The number of documents outside of the pool that a part may have."""
        return max(len(self.documents) - len(self.outside), _FEWEST)

    def parts(self) -> Iterator[tuple[int, Candidates]]:
        """Divide the queries so that no more documents are relevant alone than are common.

        What queries are measured over then grows with their number, not with its square.

        Yields
        ------
        int, Candidates
            The first query of a part, and its candidates; all at once where there are few.
        """
        if not self.is_divided:
            yield 0, self
            return
        is_outside = np.zeros(len(self.documents), np.bool_)
        is_outside[self.outside] = True
        alone = np.concatenate([[0], np.cumsum(is_outside[self.relevant.items])])
        alone = alone[self.relevant.start]
        first = 0
        while first < len(self.queries):
            most = alone[first] + self._most_outside
            last = max(first + 1, int(np.searchsorted(alone, most, side="right")) - 1)
            yield first, self._part(first, last, ~is_outside)
            first = last

    def _part(self, first: int, last: int, is_held: NDArray[np.bool_]) -> Candidates:
        relevant, excluded = self.relevant.part(first, last), self.excluded.part(first, last)
        is_held = is_held.copy()
        is_held[relevant.items] = True
        column = np.cumsum(is_held, dtype=np.int32) - 1
        kept = is_held[excluded.items]
        start = np.concatenate([[0], np.cumsum(kept)])[excluded.start]
        return Candidates(
            self.queries[first:last],
            self.documents[is_held],
            column[self.outside[is_held[self.outside]]],
            Lists(start, column[excluded.items[kept]]),
            Lists(relevant.start, column[relevant.items]),
            self.grade[self.relevant.start[first] : self.relevant.start[last]],
        )

    def excluded_of(self, first: int, last: int) -> Lists:
        """Return the columns that are no candidates of the queries ``first:last``.

        Where queries have lists of their own, these are all the others: a number for each query
        and column at most.
        """
        if self.listed is None:
            return self.excluded.part(first, last)
        part = self.listed.part(first, last)
        others = np.ones((len(part), len(self.documents)), np.bool_)
        others[np.repeat(np.arange(len(part)), part.lengths), part.items] = False
        start = np.concatenate([[0], np.cumsum(others.sum(axis=1))])
        return Lists(start, np.nonzero(others)[1].astype(np.int32))

    def mask(self, first: int, last: int) -> NDArray[np.bool_]:
        """Tell which columns are candidates of the queries ``first:last``, bool (queries, m)."""
        mask = np.ones((last - first, len(self.documents)), np.bool_)
        mask[:, self.outside] = False
        excluded, relevant = self.excluded_of(first, last), self.relevant.part(first, last)
        for lists, is_candidate in ((excluded, False), (relevant, True)):
            mask[np.repeat(np.arange(len(lists)), lists.lengths), lists.items] = is_candidate
        return mask


def described(task: Task, side: Side) -> str:
    """Say which documents a query of a side is ranked over, less those that are excluded for it."""
    if getattr(task, side).listed:
        return "the documents that were judged for the query"
    pool, documents = _pool(task, side), f"{len(task.documents):,} documents"
    if pool is None:
        return f"all {documents}"
    return f"{len(pool):,} of {documents}, the same for every query, and its own relevant ones"


def _pool(task: Task, side: Side) -> Int32 | None:
    return task.pool if side == "test" else task.valid_pool


def candidates(task: Task, side: Side, queries: int | None, seed: int) -> Candidates:
    """Fix the queries of a side and what each is ranked over.

    Candidates are all documents (with a pool of the side: the pool, and the query's own relevant
    documents; of a listed side: the documents that were judged for the query), without those that
    the task excludes for the query, and without the query's pairs of training; on the test side
    also without those of validation. A relevant pair that the task excludes does not count. On the
    training side the training pairs are the relevant ones.

    Parameters
    ----------
    task : `Task`
        Task with the queries, documents and pairs.
    side : "train", "valid" or "test"
        Side of the split whose pairs are relevant.
    queries : int or None
        How many to draw of those that have a relevant document; None, or too many: all.
    seed : int
        Random seed of the draw, which depends on the side's pairs only.

    Raises
    ------
    ValueError
        The side is none, or has no query with a relevant document.
    """
    if side not in _SEEN:
        raise ValueError(f"side={side!r}, expected one of {', '.join(_SEEN)}")
    pairs: Pairs = getattr(task, side)
    of_task = _keys_of_exclude(task, np.unique(pairs.rows[:, 0]))
    width = len(task.documents)
    keys = _keys(pairs.rows, width)
    kept = np.flatnonzero(~_contains(of_task, keys))
    if len(kept) < len(keys):
        _log.info("%s: %d relevant pairs are excluded by the task", side, len(keys) - len(kept))
    chosen = np.unique(keys[kept] // width)
    if len(chosen) == 0:
        raise ValueError(f"side={side!r} of this task has no query with a relevant document")
    if queries is not None and queries < len(chosen):
        draw = np.random.default_rng([seed, list(_SEEN).index(side)])
        chosen = np.sort(draw.choice(chosen, queries, replace=False))

    kept = kept[_contains(chosen, keys[kept] // width)]
    relevant = keys[kept]
    seen = [_keys(getattr(task, name).rows, width) for name in _SEEN[side]]
    excluded = np.unique(np.concatenate([of_task, *seen]))
    excluded = excluded[_contains(chosen, excluded // width)]
    excluded = excluded[~_contains(relevant, excluded)]

    if pairs.listed:
        return _of_lists(pairs, chosen, relevant, pairs.grade[kept], excluded, width)
    pool = _pool(task, side)
    if pool is None:
        documents = np.arange(width, dtype=np.int32)
        outside = np.zeros(0, np.int32)
    else:
        documents = np.union1d(pool, relevant % width).astype(np.int32)
        outside = np.flatnonzero(~np.isin(documents, pool)).astype(np.int32)
        excluded = excluded[_contains(documents, excluded % width)]
    return Candidates(
        chosen.astype(np.int32),
        documents,
        outside,
        _lists(excluded, chosen, documents, width),
        _lists(relevant, chosen, documents, width),
        pairs.grade[kept],
    )


def _of_lists(
    pairs: Pairs, chosen: Int64, relevant: Int64, grade: Float32, excluded: Int64, width: int
) -> Candidates:
    """Return the candidates if a query ranks its judged documents."""
    judged = np.union1d(relevant, _keys(pairs.not_relevant, width))
    judged = judged[_contains(chosen, judged // width) & ~_contains(excluded, judged)]
    documents = np.unique(judged % width)
    nothing = np.zeros(0, np.int64)
    return Candidates(
        chosen.astype(np.int32),
        documents.astype(np.int32),
        nothing.astype(np.int32),
        _lists(nothing, chosen, documents, width),
        _lists(relevant, chosen, documents, width),
        grade,
        _lists(judged, chosen, documents, width),
    )


def draw_tuples(task: Task, side: Side, tuples: int, seed: int) -> tuple[Int32, Int32, Int32]:
    """Draw (query, relevant, irrelevant candidate), as rows of the task.

    The query is uniform over all queries of the side that have a relevant and an irrelevant
    candidate, then the relevant one is uniform over its own, the irrelevant one over its
    candidates (Bai et al. 2010, section 4.1).

    Returns
    -------
    query, relevant, irrelevant : int32 (tuples,), sorted by query; empty when no query has both,
        and where queries rank lists of their own
    """
    if getattr(task, side).listed:
        nothing = np.zeros(0, np.int32)
        return nothing, nothing, nothing
    whole = candidates(task, side, None, seed)
    common = np.setdiff1d(np.arange(len(whole.documents)), whole.outside)
    forbidden = _forbidden(whole, common)
    irrelevant_count = len(common) - forbidden.lengths
    able = np.flatnonzero(irrelevant_count > 0)
    if len(able) == 0:
        nothing = np.zeros(0, np.int32)
        return nothing, nothing, nothing
    draw = np.random.default_rng([seed, len(_SEEN) + list(_SEEN).index(side)])
    query = np.sort(draw.choice(able, tuples))
    relevant_count = whole.relevant.lengths[query]
    which = whole.relevant.start[query] + draw.integers(0, relevant_count)
    # The j-th common column that is not forbidden: f[t] - t allowed ones stand before the
    # forbidden place f[t], so that t forbidden ones stand before it where f[t - 1] - (t - 1) <= j.
    j = draw.integers(0, irrelevant_count[query])
    owner = np.repeat(np.arange(len(forbidden)), forbidden.lengths)
    order = np.arange(len(forbidden.items)) - forbidden.start[owner]
    step = np.int64(len(common) + 1)
    before = owner * step + forbidden.items - order
    passed = np.searchsorted(before, query * step + j, side="right") - forbidden.start[query]
    return (
        whole.queries[query],
        whole.documents[whole.relevant.items[which]],
        whole.documents[common[j + passed]],
    )


def _forbidden(whole: Candidates, common: Int64) -> Lists:
    """Return the positions in ``common`` that each query excludes, ascending."""
    owners = [
        np.repeat(np.arange(len(part)), part.lengths) for part in (whole.excluded, whole.relevant)
    ]
    columns = np.concatenate([whole.excluded.items, whole.relevant.items])
    keys = np.concatenate(owners) * np.int64(len(whole.documents)) + columns
    keys = np.sort(keys[_contains(common, columns)])
    rows = np.arange(len(whole.queries))
    return _lists(keys, rows, common, len(whole.documents))


def _keys(rows: Any, width: int) -> Int64:
    """Return a number for each (query, document) pair, in sorting order."""
    keys: Int64 = rows[:, 0].astype(np.int64) * width + rows[:, 1]
    return keys


def _keys_of_exclude(task: Task, rows: Int32) -> Int64:
    part = task.exclude[rows]
    owner = np.repeat(rows.astype(np.int64), np.diff(part.indptr))
    keys = owner * len(task.documents) + part.indices
    return np.unique(keys[part.data.astype(bool)])


def _contains(sorted_items: NDArray[Any], items: NDArray[Any]) -> NDArray[np.bool_]:
    if len(sorted_items) == 0:
        return np.zeros(len(items), bool)
    position = np.searchsorted(sorted_items, items).clip(max=len(sorted_items) - 1)
    matches: NDArray[np.bool_] = sorted_items[position] == items
    return matches


def _lists(keys: Int64, rows: Any, columns: Any, width: int) -> Lists:
    """Split ascending keys into a list of columns for each row."""
    start = np.searchsorted(keys, np.append(rows, rows[-1] + 1).astype(np.int64) * width)
    return Lists(start.astype(np.int64), np.searchsorted(columns, keys % width).astype(np.int32))


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
    in_parts: bool = False,
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
    in_parts : bool
        Queries are ranked in `Candidates.parts`.
    """
    pairs = {name: getattr(task, name).rows for name in ("train", "valid", "test")}
    m = len(task.queries), len(task.documents)
    q = min(m[0] if queries is None else queries, len(pairs[side]), m[0])
    pool = task.pool if side == "test" else task.valid_pool
    candidates = m[1]
    if pool is not None:
        own = _most_pairs(pairs[side], q)
        if in_parts:
            own = min(own, max(len(pool), _FEWEST, _most_pairs(pairs[side], 1)))
        candidates = min(m[1], len(pool) + own)
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
