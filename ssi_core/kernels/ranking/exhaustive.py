"""The k best documents of queries, all of which are scored: a block of documents at a time.

The score is ``<u, v> + <a, b>`` with ``u, v`` dense and ``a, b`` sparse. The best of each query are
kept while the documents go by, so that no array has an entry for each query and document.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, part, part_fast
from ssi_core.kernels.ranking.scores import insert
from ssi_core.kernels.ranking.tiles import ROWS, add_to_lanes, any_above, tile
from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.vectors import widened

Floats = NDArray[np.float32]
Rows = NDArray[np.int32]
Places = NDArray[np.int64]


@jit
def best_one_by_one(
    documents: Floats,
    queries: Floats,
    words: Csr,
    postings: Csr,
    hidden: Places,
    within: Places,
    scores: Floats,
    rows: Rows,
    best: Floats,
) -> None:
    """Find the best documents of each query; a block is read from memory for the first query.

    Parameters
    ----------
    documents : float32 or uint16 (n, dimensions)
        uint16 has the bits of float16. With no dimensions, a document of score 0 is none of the
        best.
    queries : float32 (m, dimensions)
        Dense parts of m queries.
    words : Csr
        Sparse parts of m queries.
    postings : Csr
        Sparse parts of n documents, a row for each column.
    hidden : int64
        Rows that are never found, ascending.
    within : int64 (entries of ``words``,)
        Scratch.
    scores : float32 (block,)
        Scratch.
    rows, best : int32, float32 (m, k)
        Written: the best, best first, equal ones by ascending row; -1 and ``-inf`` where there are
        fewer. ``-inf`` and NaN are never found.
    """
    _begin(words.indices, postings, within, rows, best)
    dense, n, passed = documents.shape[1] > 0, documents.shape[0], 0
    for first in range(0, n, len(scores)):
        last = min(first + len(scores), n)
        barred = _before(hidden, passed, last)
        for query in range(len(rows)):
            _dots(documents, first, last, queries[query], scores)
            _add_words(words, postings, query, within, first, last, scores)
            for h in range(passed, barred):
                scores[hidden[h] - first] = -np.inf
            row, value = rows[query], best[query]
            bar = value[-1]
            for i in range(last - first):
                if scores[i] > bar and (dense or scores[i] != 0):
                    insert(row, value, first + i, scores[i])
                    bar = value[-1]
        passed = barred


@jit
def best_together(
    documents: Floats,
    queries: Floats,
    words: Rows,
    weights: Floats,
    postings: Csr,
    hidden: Places,
    within: Places,
    scores: Floats,
    bars: Floats,
    rows: Rows,
    best: Floats,
) -> None:
    """Find the best documents of up to `tiles.LANES` queries at once, as `best_one_by_one` does.

    The postings of a word are read once for all queries.

    Parameters
    ----------
    queries : float32 (dimensions, LANES)
        A column for each query.
    words : int32 (words,)
        Those of any query, ascending.
    weights : float32 (words, LANES)
        Of each word in each query.
    within : int64 (words,)
        Scratch.
    scores : float32 (block, LANES)
        Scratch; the block is a multiple of `ROWS`.
    bars : float32 (LANES,)
        Scratch.
    """
    _begin(words, postings, within, rows, best)
    count, passed = len(rows), 0
    dense, n = documents.shape[1] > 0, documents.shape[0]
    bars[:count] = -np.inf
    bars[count:] = np.inf
    for first in range(0, n, len(scores)):
        last = min(first + len(scores), n)
        for i in range(0, last - first, ROWS):
            tile(documents, first + i, last, queries, scores[i : i + ROWS])
        for s in range(len(words)):
            start = within[s]
            within[s] = _until(postings, start, postings.indptr[words[s] + 1], last)
            for t in range(start, within[s]):
                add_to_lanes(scores[postings.indices[t] - first], postings.data[t], weights[s])
        barred = _before(hidden, passed, last)
        for h in range(passed, barred):
            scores[hidden[h] - first] = -np.inf
        passed = barred
        for i in range(last - first):
            if any_above(scores[i], bars):
                for query in range(count):
                    score = scores[i, query]
                    if score > bars[query] and (dense or score != 0):
                        insert(rows[query], best[query], first + i, score)
                        bars[query] = best[query, -1]


@part
def _begin(words: Rows, postings: Csr, within: Places, rows: Rows, best: Floats) -> None:
    """Empty the lists, and stand at the first posting of each word."""
    rows[:] = -1
    best[:] = -np.inf
    for s in range(len(words)):
        within[s] = postings.indptr[words[s]]


@part
def _before(hidden: Places, passed: int, last: int) -> int:
    """Return how many hidden rows are before ``last``, of which some are passed."""
    while passed < len(hidden) and hidden[passed] < last:
        passed += 1
    return passed


@part_fast
def _dots(documents: Floats, first: int, last: int, query: Floats, scores: Floats) -> None:
    """Write the inner products of a query with some documents."""
    for i in range(last - first):
        row, total = documents[first + i], np.float32(0)
        for r in range(len(query)):
            total += widened(row[r]) * query[r]
        scores[i] = total


@part
def _add_words(
    words: Csr, postings: Csr, query: int, within: Places, first: int, last: int, scores: Floats
) -> None:
    """Add the sparse part of a query's scores with some documents, and go on in its postings."""
    for s in range(words.indptr[query], words.indptr[query + 1]):
        start, value = within[s], words.data[s]
        within[s] = _until(postings, start, postings.indptr[words.indices[s] + 1], last)
        for t in range(start, within[s]):
            scores[postings.indices[t] - first] += value * postings.data[t]


@part
def _until(postings: Csr, t: int, end: int, last: int) -> int:
    """Return the first posting from ``t`` on of a document that is not before ``last``, or the end.

    Steps are doubled until one is too long, then halved.
    """
    step = 1
    while t + step <= end and postings.indices[t + step - 1] < last:
        t += step
        step *= 2
    while step > 0:
        if t + step <= end and postings.indices[t + step - 1] < last:
            t += step
        step //= 2
    return t
