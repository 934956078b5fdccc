"""Ranks of the few relevant documents, counted without sorting the many candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_making

Scores = NDArray[np.float32]
Counts = NDArray[np.int64]
Columns = NDArray[np.int32]
Losses = NDArray[np.float64]

LOWEST = np.float32(np.finfo(np.float32).min)
NEVER = np.float32(-np.inf)


@jit
def keep_candidates(
    row: Scores, outside: Columns, excluded: Columns, first: int, last: int
) -> None:
    """Set what is no candidate of one query to ``-inf``, in place.

    That is ``outside`` and ``excluded[first:last]``. Any other score that is NaN or ``-inf``
    becomes the lowest finite number, so that it ranks last.
    """
    for c in range(row.shape[0]):
        if not row[c] >= LOWEST:
            row[c] = LOWEST
    for column in outside:
        row[column] = NEVER
    for s in range(first, last):
        row[excluded[s]] = NEVER


@jit
def count_before(row: Scores, own: int, counts: Counts) -> None:
    """Count the columns before, at and after ``own`` that score higher, or equal.

    ``counts``, written: higher on the left, higher or equal on the left, the same on the right.
    """
    score = row[own]
    higher, reaching = 0, 0
    for c in range(own):
        higher += row[c] > score
        reaching += row[c] >= score
    counts[0], counts[1] = higher, reaching
    higher, reaching = 0, 0
    for c in range(own + 1, row.shape[0]):
        higher += row[c] > score
        reaching += row[c] >= score
    counts[2], counts[3] = higher, reaching


@jit_making
def rank_relevant(
    scores: Scores,
    outside: Columns,
    excluded_start: Counts,
    excluded: Columns,
    relevant_start: Counts,
    relevant: Columns,
    rank: Counts,
    above: Counts,
    tied: Counts,
    irrelevant: Counts,
) -> None:
    """Rank the relevant documents of a block of queries, equal scores by ascending column.

    O(columns) a relevant document, at the speed of a vectorised comparison.

    Parameters
    ----------
    scores : float32 (queries, columns)
        Overwritten: ``-inf`` where a column is no candidate.
    outside : Columns
        Columns that are candidates only where they are relevant.
    excluded_start, excluded : Counts, Columns
        Columns that are no candidates, a CSR row a query; never relevant ones.
    relevant_start, relevant : Counts, Columns
        Relevant columns, a CSR row a query; always candidates.
    rank : Counts
        Written, aligned to ``relevant``: 1 + candidates that score higher + equal ones before it.
    above, tied : Counts
        Written, aligned: *irrelevant* candidates that score higher, that score equal.
    irrelevant : Counts
        Written, one number a query: its irrelevant candidates.
    """
    saved = np.empty(relevant.shape[0], np.float32)
    counts = np.empty(4, np.int64)
    for i in range(scores.shape[0]):
        row = scores[i]
        first, last = relevant_start[i], relevant_start[i + 1]
        for j in range(first, last):
            score = row[relevant[j]]
            saved[j] = score if score >= LOWEST else LOWEST
        keep_candidates(row, outside, excluded, excluded_start[i], excluded_start[i + 1])
        for j in range(first, last):
            row[relevant[j]] = saved[j]
        candidates = 0
        for c in range(row.shape[0]):
            candidates += row[c] > NEVER
        irrelevant[i] = candidates - (last - first)
        for j in range(first, last):
            count_before(row, relevant[j], counts)
            rank[j] = 1 + counts[1] + counts[2]
            above[j] = counts[0] + counts[2]
            tied[j] = counts[1] + counts[3] - above[j]
            for other in range(first, last):
                above[j] -= saved[other] > saved[j]
                tied[j] -= other != j and saved[other] == saved[j]


@jit
def rank_alike(
    scores: Scores,
    group: Counts,
    bounds: Counts,
    members: Columns,
    relevant_start: Counts,
    relevant: Columns,
    lost: Losses,
    alike: Counts,
) -> None:
    """Count, for each relevant document, the irrelevant candidates of its own group.

    Parameters
    ----------
    scores : Scores
        As `rank_relevant` leaves them.
    group : Counts
        Group of each column.
    bounds, members : Counts, Columns
        Columns of each group, a CSR row a group.
    relevant_start, relevant : Counts, Columns
        Relevant columns, a CSR row a query.
    lost : Losses
        Written, aligned to ``relevant``: those that score higher, and half of those that score the
        same.
    alike : Counts
        Written, aligned: how many there are.
    """
    for i in range(scores.shape[0]):
        row = scores[i]
        first, last = relevant_start[i], relevant_start[i + 1]
        for j in range(first, last):
            score, mine = row[relevant[j]], group[relevant[j]]
            higher, reaching, equal = 0, 0, 0
            for m in range(bounds[mine], bounds[mine + 1]):
                other = row[members[m]]
                higher += other > score
                reaching += other >= score
                equal += other > NEVER
            for r in range(first, last):
                if group[relevant[r]] == mine:
                    other = row[relevant[r]]
                    higher -= other > score
                    reaching -= other >= score
                    equal -= 1
            lost[j] = 0.5 * (higher + reaching)
            alike[j] = equal
