"""Scores of queries with all documents, and the ranks of the few relevant ones among them.

Sparse rows are scored through an inverted index; ranks are counted without sorting.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_fast, jit_making
from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.vectors import widened

Floats = NDArray[np.float32]
Columns = NDArray[np.int32]
Starts = NDArray[np.int64]
Losses = NDArray[np.float64]

LOWEST = np.float32(np.finfo(np.float32).min)
NEVER = np.float32(-np.inf)


@jit
def widen_rows(rows: NDArray[np.uint16], out: Floats) -> None:
    """Write rows of float16, whose bits are given as uint16, as float32."""
    for i in range(out.shape[0]):
        for r in range(out.shape[1]):
            out[i, r] = widened(rows[i, r])


@jit_fast
def products_with_half(rows: NDArray[np.uint16], query: Floats, out: Floats) -> None:
    """Write the inner products of a query with rows of float16, given as by `widen_rows`."""
    for i in range(rows.shape[0]):
        total = np.float32(0)
        for r in range(rows.shape[1]):
            total += widened(rows[i, r]) * query[r]
        out[i] = total


@jit
def add_sparse(
    queries: Csr,
    postings: Csr,
    least: int,
    first: int,
    last: int,
    scores: Floats,
) -> None:
    """Add ``<q, d>`` of query rows ``first:last`` with all documents to ``scores[first:last]``.

    Queries are CSR; documents are CSC, so that a word's postings are contiguous. Words below
    ``least`` are left out.
    """
    for i in range(first, last):
        row = scores[i]
        for s in range(queries.indptr[i], queries.indptr[i + 1]):
            word = queries.indices[s]
            if word < least:
                continue
            value = queries.data[s]
            for t in range(postings.indptr[word], postings.indptr[word + 1]):
                row[postings.indices[t]] += value * postings.data[t]


@jit
def add_frequent(
    queries: Csr,
    columns: Floats,
    first: int,
    last: int,
    scores: Floats,
) -> None:
    """Add what `add_sparse` would of the first words, to which ``columns`` has all documents.

    ``columns`` (blocks, words, documents of a block) has a place for each document, also for those
    that lack a word: it is added to without a look at its number. The sums are in the same order.
    Columns of queries ascend.
    """
    starts, indices, values = queries
    words, size = columns.shape[1:]
    for block in range(columns.shape[0]):
        begin = block * size
        count = min(size, scores.shape[1] - begin)
        for i in range(first, last):
            row = scores[i, begin : begin + count]
            s, end = starts[i], starts[i + 1]
            while s + 1 < end and indices[s + 1] < words:  # two words for one look at a row
                one, other = columns[block, indices[s]], columns[block, indices[s + 1]]
                value, next_value = values[s], values[s + 1]
                for d in range(count):
                    row[d] = (row[d] + value * one[d]) + next_value * other[d]
                s += 2
            if s < end and indices[s] < words:
                value, one = values[s], columns[block, indices[s]]
                for d in range(count):
                    row[d] += value * one[d]


@jit
def keep_candidates(
    row: Floats, outside: Columns, excluded: Columns, first: int, last: int
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
def count_before(row: Floats, own: int, counts: Starts) -> None:
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
    scores: Floats,
    outside: Columns,
    excluded_start: Starts,
    excluded: Columns,
    relevant_start: Starts,
    relevant: Columns,
    rank: Starts,
    above: Starts,
    tied: Starts,
    irrelevant: Starts,
) -> None:
    """Rank the relevant documents of a block of queries, equal scores by ascending column.

    O(columns) a relevant document, at the speed of a vectorised comparison.

    Parameters
    ----------
    scores : float32 (queries, columns)
        Overwritten: ``-inf`` where a column is no candidate.
    outside : Columns
        Columns that are candidates only where they are relevant.
    excluded_start, excluded : Starts, Columns
        Columns that are no candidates, a CSR row a query; never relevant ones.
    relevant_start, relevant : Starts, Columns
        Relevant columns, a CSR row a query; always candidates.
    rank : Starts
        Written, aligned to ``relevant``: 1 + candidates that score higher + equal ones before it.
    above, tied : Starts
        Written, aligned: *irrelevant* candidates that score higher, that score equal.
    irrelevant : Starts
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
    scores: Floats,
    group: Starts,
    bounds: Starts,
    members: Columns,
    relevant_start: Starts,
    relevant: Columns,
    lost: Losses,
    alike: Starts,
) -> None:
    """Count, for each relevant document, the irrelevant candidates of its own group.

    Parameters
    ----------
    scores : Floats
        As `rank_relevant` leaves them.
    group : Starts
        Group of each column.
    bounds, members : Starts, Columns
        Columns of each group, a CSR row a group.
    relevant_start, relevant : Starts, Columns
        Relevant columns, a CSR row a query.
    lost : Losses
        Written, aligned to ``relevant``: those that score higher, and half of those that score the
        same.
    alike : Starts
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
