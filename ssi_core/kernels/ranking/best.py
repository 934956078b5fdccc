"""The k best documents of queries: of all, of a row of scores, and of some that are scored again.

The score is ``<u, v> + <a, b>`` with ``u, v`` dense and ``a, b`` sparse. Where all documents are
scored the best of each query are kept while a block of documents goes by after the other, so that
no array has an entry for each query and document. What was found is scored again pair by pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, part, part_fast
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


@jit
def add_pairs(
    queries: Csr,
    documents: Csr,
    query_row: Rows,
    document_row: Rows,
    first: int,
    last: int,
    scratch: Floats,
    scores: Floats,
) -> None:
    """Add ``<q, d>`` of the pairs ``first:last`` to ``scores[first:last]``.

    ``scratch`` is zero, one entry a column, and zero again afterwards. A query is scattered into it
    once for a run of pairs that share it.
    """
    held = -1
    for p in range(first, last):
        query = query_row[p]
        if query != held:
            if held >= 0:
                for s in range(queries.indptr[held], queries.indptr[held + 1]):
                    scratch[queries.indices[s]] = 0
            for s in range(queries.indptr[query], queries.indptr[query + 1]):
                scratch[queries.indices[s]] += queries.data[s]
            held = query
        document = document_row[p]
        total = np.float32(0)
        for t in range(documents.indptr[document], documents.indptr[document + 1]):
            total += scratch[documents.indices[t]] * documents.data[t]
        scores[p] += total
    if held >= 0:
        for s in range(queries.indptr[held], queries.indptr[held + 1]):
            scratch[queries.indices[s]] = 0


@jit
def add_likelihoods(
    queries: Csr,
    documents: Csr,
    topics: Floats,
    dense: Floats,
    query_row: Rows,
    document_row: Rows,
    first: int,
    last: int,
    scratch: Floats,
    scores: Floats,
) -> None:
    """Add ``sum_i q_i ln(1 + d_i + <topics_i, dense_d>)`` of the pairs ``first:last``.

    ``scratch`` is zero, one entry a column, and zero again afterwards; it holds a document.
    """
    for p in range(first, last):
        query, document = query_row[p], document_row[p]
        start, end = documents.indptr[document], documents.indptr[document + 1]
        for t in range(start, end):
            scratch[documents.indices[t]] += documents.data[t]
        total = np.float32(0)
        for s in range(queries.indptr[query], queries.indptr[query + 1]):
            word = queries.indices[s]
            inner = scratch[word]
            for z in range(topics.shape[1]):
                inner += topics[word, z] * dense[document, z]
            total += queries.data[s] * np.log1p(inner)
        scores[p] += total
        for t in range(start, end):
            scratch[documents.indices[t]] = 0


@part
def insert(
    column: NDArray[np.integer], value: NDArray[np.floating], c: int, score: np.floating
) -> None:
    """Put a score that is above the last of a sorted list into it, behind those equal to it."""
    position = len(value) - 1
    while position > 0 and value[position - 1] < score:
        value[position] = value[position - 1]
        column[position] = column[position - 1]
        position -= 1
    value[position] = score
    column[position] = c


@jit
def top_k(
    scores: NDArray[np.float32], best: NDArray[np.int32], best_score: NDArray[np.float32]
) -> None:
    """Write the columns of the ``best.shape[1]`` largest scores of each row, the largest first.

    Equal scores come by ascending column. ``-inf`` and NaN are no candidates; where a row has fewer
    candidates than places, the rest are column -1 and score ``-inf``. Insertion into a short sorted
    list: O(columns + k^2 log(columns / k)) a row when the order of scores is random.

    Parameters
    ----------
    scores : float32 (rows, columns)
        Scores to choose from.
    best : int32 (rows, k)
        Written.
    best_score : float32 (rows, k)
        Written.
    """
    k = best.shape[1]
    for i in range(scores.shape[0]):
        column, value = best[i], best_score[i]
        column[:] = -1
        value[:] = -np.inf
        if k == 0:
            continue
        for c in range(scores.shape[1]):
            score = scores[i, c]
            if score > value[k - 1]:
                insert(column, value, c, score)


@jit
def best_again(
    query: NDArray[np.float32],
    documents: NDArray[np.float32],
    rows: NDArray[np.int32],
    scores: NDArray[np.float32],
    chosen: NDArray[np.int32],
    best: NDArray[np.float32],
) -> None:
    """Write the best of some documents by ``score + <query, document>``, the largest first.

    Inner products are added up in float64, so that they are the same in any order. Equal scores
    come by ascending row.

    Parameters
    ----------
    query : float32 (dimensions,)
        Dense part of the query.
    documents : float32 (candidates, dimensions)
        Dense parts of the candidates.
    rows : int32 (candidates,)
        What the documents are called; -1 is none of them.
    scores : float32 (candidates,)
        Sparse part of each candidate's score.
    chosen, best : int32, float32 (k,)
        Written: rows and scores, -1 and ``-inf`` where there are fewer.
    """
    chosen[:] = -1
    best[:] = -np.inf
    for c in range(len(rows)):
        if rows[c] < 0:
            continue
        total = 0.0
        for r in range(len(query)):
            total += np.float64(query[r]) * np.float64(documents[c, r])
        score = scores[c] + np.float32(total)
        position = len(best)
        while position > 0 and (
            best[position - 1] < score
            or (best[position - 1] == score and chosen[position - 1] > rows[c])
        ):
            if position < len(best):
                best[position], chosen[position] = best[position - 1], chosen[position - 1]
            position -= 1
        if position < len(best):
            best[position], chosen[position] = score, rows[c]
