"""Scores of sparse rows, by an inverted index or pair by pair, and the k best of a row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_fast, part
from ssi_core.kernels.vectors import widened

Floats = NDArray[np.float32]
Columns = NDArray[np.int32]
Starts = NDArray[np.int64]


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
    query_start: Starts,
    query_column: Columns,
    query_value: Floats,
    posting_start: Starts,
    posting_document: Columns,
    posting_value: Floats,
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
        for s in range(query_start[i], query_start[i + 1]):
            word = query_column[s]
            if word < least:
                continue
            value = query_value[s]
            for t in range(posting_start[word], posting_start[word + 1]):
                row[posting_document[t]] += value * posting_value[t]


@jit
def add_frequent(
    query_start: Starts,
    query_column: Columns,
    query_value: Floats,
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
    words, size = columns.shape[1:]
    for block in range(columns.shape[0]):
        begin = block * size
        count = min(size, scores.shape[1] - begin)
        for i in range(first, last):
            row = scores[i, begin : begin + count]
            s, end = query_start[i], query_start[i + 1]
            while s + 1 < end and query_column[s + 1] < words:  # two words for one look at a row
                one, other = columns[block, query_column[s]], columns[block, query_column[s + 1]]
                value, next_value = query_value[s], query_value[s + 1]
                for d in range(count):
                    row[d] = (row[d] + value * one[d]) + next_value * other[d]
                s += 2
            if s < end and query_column[s] < words:
                value, one = query_value[s], columns[block, query_column[s]]
                for d in range(count):
                    row[d] += value * one[d]


@jit
def add_pairs(
    query_start: Starts,
    query_column: Columns,
    query_value: Floats,
    document_start: Starts,
    document_column: Columns,
    document_value: Floats,
    query_row: Columns,
    document_row: Columns,
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
                for s in range(query_start[held], query_start[held + 1]):
                    scratch[query_column[s]] = 0
            for s in range(query_start[query], query_start[query + 1]):
                scratch[query_column[s]] += query_value[s]
            held = query
        document = document_row[p]
        total = np.float32(0)
        for t in range(document_start[document], document_start[document + 1]):
            total += scratch[document_column[t]] * document_value[t]
        scores[p] += total
    if held >= 0:
        for s in range(query_start[held], query_start[held + 1]):
            scratch[query_column[s]] = 0


@jit
def add_likelihoods(
    query_start: Starts,
    query_column: Columns,
    query_value: Floats,
    document_start: Starts,
    document_column: Columns,
    document_value: Floats,
    topics: Floats,
    dense: Floats,
    query_row: Columns,
    document_row: Columns,
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
        start, end = document_start[document], document_start[document + 1]
        for t in range(start, end):
            scratch[document_column[t]] += document_value[t]
        total = np.float32(0)
        for s in range(query_start[query], query_start[query + 1]):
            word = query_column[s]
            inner = scratch[word]
            for z in range(topics.shape[1]):
                inner += topics[word, z] * dense[document, z]
            total += query_value[s] * np.log1p(inner)
        scores[p] += total
        for t in range(start, end):
            scratch[document_column[t]] = 0


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
