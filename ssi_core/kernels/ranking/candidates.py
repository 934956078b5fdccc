"""Documents that are worth a look: the nearest by signs of their vectors, and the best by words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, part
from ssi_core.kernels.ranking.hamming import ones
from ssi_core.kernels.sparse import Csr

Floats = NDArray[np.float32]
Rows = NDArray[np.int32]
Codes = NDArray[np.uint64]
Starts = NDArray[np.int64]


@part
def estimate(
    codes: Codes,
    lengths: Floats,
    query: Codes,
    first: int,
    size: int,
    far: Rows,
    scores: Floats,
) -> None:
    """Write ``length (bits - 2 h)`` of ``size`` documents from ``first`` on."""
    far[:size] = 0
    for word in range(len(query)):
        bits_of_query = query[word]
        block = codes[word][first : first + size]
        for i in range(size):
            far[i] += np.int32(ones(block[i] ^ bits_of_query))
    bits = np.int32(64 * len(query))
    length = lengths[first : first + size]
    for i in range(size):
        scores[i] = length[i] * np.float32(bits - np.int32(2) * far[i])


@part
def select(scores: Floats, rows: Rows, count: int) -> float:
    """Move the ``count`` largest scores to the front, with their rows; return the least of them.

    Hoare's selection, O(len(scores)) on average.
    """
    low, high, last = 0, len(scores) - 1, count - 1
    while low < high:
        pivot = scores[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while scores[i] > pivot:
                i += 1
            while scores[j] < pivot:
                j -= 1
            if i <= j:
                scores[i], scores[j] = scores[j], scores[i]
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if last <= j:
            high = j
        elif last >= i:
            low = i
        else:
            break
    return float(scores[last])


@jit
def nearest_by_signs(
    codes: Codes,
    lengths: Floats,
    queries: Codes,
    far: Rows,
    scores: Floats,
    rows: Rows,
    best: Floats,
    held: Starts,
    bars: Floats,
) -> None:
    """Find the c documents of the largest ``length (bits - 2 h)``, h the Hamming distance.

    The codes are read once for all queries, a block of documents at a time. Of the documents with
    the least score that is found, some are found, whatever else is asked.

    Parameters
    ----------
    codes : uint64 (words, n)
        Codes of the documents, word by word.
    lengths : float32 (n,)
        Norm of each document's vector.
    queries : uint64 (m, words)
        Codes of the queries.
    far, scores : int32, float32 (block,)
        Scratch.
    rows, best : int32, float32 (m, 2 c)
        Written: the first c of each query are its documents and their scores, in no order; -1 and
        ``-inf`` where there are fewer.
    held, bars : int64, float32 (m,)
        Scratch.
    """
    n, wanted = codes.shape[1], rows.shape[1] // 2
    rows[:] = -1
    best[:] = -np.inf
    held[:] = 0
    bars[:] = -np.inf
    for first in range(0, n, len(far)):
        size = min(len(far), n - first)
        for query in range(len(queries)):
            estimate(codes, lengths, queries[query], first, size, far, scores)
            row, score = rows[query], best[query]
            count, bar = held[query], bars[query]
            for i in range(size):
                if scores[i] > bar:
                    row[count] = first + i
                    score[count] = scores[i]
                    count += 1
                    if count == len(row):
                        bar = select(score, row, wanted)
                        count = wanted
            held[query], bars[query] = count, bar
    for query in range(len(queries)):
        count = held[query]
        if count > wanted:
            select(best[query][:count], rows[query][:count], wanted)


@jit
def best_by_words(
    queries: Csr,
    postings: Csr,
    near: int,
    rows: Rows,
    scores: Floats,
    sums: Floats,
    turns: Rows,
    met: Rows,
) -> None:
    """Add ``<q, d>`` to the scores of given documents, and find the documents of the largest one.

    The time is that of the postings of the query's words.

    Parameters
    ----------
    queries : Csr
        Sparse parts of m queries.
    postings : Csr
        Sparse parts of the documents, a row for each column.
    near : int
        How many documents are given.
    rows : int32 (m, near + words)
        The first ones are given, each once or -1; written: the best ones of all, -1 in place of one
        that is given.
    scores : float32 (m, near + words)
        ``<q, d>`` is added to those of the given, and written for the others.
    sums : float32 (n,)
        Scratch.
    turns : int32 (n,)
        Zero; written.
    met : int32 (n,)
        Scratch.
    """
    for query in range(len(rows)):
        row, score, turn = rows[query], scores[query], query + 1
        count = 0
        for s in range(queries.indptr[query], queries.indptr[query + 1]):
            word, value = queries.indices[s], queries.data[s]
            for t in range(postings.indptr[word], postings.indptr[word + 1]):
                document = postings.indices[t]
                if turns[document] != turn:
                    turns[document] = turn
                    sums[document] = 0
                    met[count] = document
                    count += 1
                sums[document] += value * postings.data[t]
        for position in range(near):
            document = row[position]
            if document >= 0 and turns[document] == turn:
                score[position] += sums[document]
                turns[document] = -turn
        row[near:] = -1
        score[near:] = -np.inf
        last = len(row) - 1
        for one in range(count):
            document = met[one]
            if not sums[document] > score[last]:
                continue
            position = last
            while position > near and score[position - 1] < sums[document]:
                row[position], score[position] = row[position - 1], score[position - 1]
                position -= 1
            row[position], score[position] = document, sums[document]
        for position in range(near, len(row)):
            if row[position] >= 0 and turns[row[position]] == -turn:
                row[position], score[position] = -1, -np.inf
