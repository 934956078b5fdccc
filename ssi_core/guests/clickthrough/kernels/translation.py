"""EM of IBM model 1: which words of queries the words of documents are translated into.

``P(q | d) = prod_i (sum_w t(i | w) d_w / |d|) ^ q_i`` (Brown et al. 1993, model 1, without the
empty word). The table t has a row for each word of documents, and in it the words of queries that
it meets in a pair. It is kept sparse, and EM goes over it row by row: a row is laid out for look-up
while the documents that have its word are visited, so that nothing is searched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit_making

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Rows = tuple[Int64, Int32, Float32]
"""Start, column and value of a matrix (CSR)."""


@jit_making
def likelihoods(
    table: Rows, postings: Rows, targets: Rows, first: int, last: int, width: int, sums: Float64
) -> None:
    """Fill ``sums`` with ``sum_w t(i | w) d_w`` for the words i of some targets.

    Parameters
    ----------
    table : tuple
        t: a row for each word of documents.
    postings : tuple
        A row for each word of documents: which documents have it, ascending, and how often.
    targets : tuple
        A row for each document: the words that it is translated into.
    first, last : int
        Documents to do.
    width : int
        Number of words of queries.
    sums : float64 (non-zeros of targets,)
        Filled between the two documents.
    """
    for k in range(targets[0][first], targets[0][last]):
        sums[k] = 0.0
    chances = np.zeros(width, np.float32)
    for w in range(len(table[0]) - 1):
        begin, end = postings[0][w], postings[0][w + 1]
        begin += np.searchsorted(postings[1][begin:end], first)
        end = begin + np.searchsorted(postings[1][begin:end], last)
        if begin == end:
            continue
        for e in range(table[0][w], table[0][w + 1]):
            chances[table[1][e]] = table[2][e]
        for k in range(begin, end):
            d, count = postings[1][k], postings[2][k]
            for i in range(targets[0][d], targets[0][d + 1]):
                sums[i] += np.float64(count) * chances[targets[1][i]]


@jit_making
def translate(
    table: Rows, postings: Rows, targets: Rows, first: int, last: int, width: int, ratios: Float64
) -> None:
    """Replace some rows of the table by the expected shares of their words.

    Word i of the queries of d is expected ``t(i | w) d_w ratio_i`` times from word w.

    Parameters
    ----------
    first, last : int
        Rows to do.
    ratios : float64 (non-zeros of targets,)
        How often a word is there, over what `likelihoods` filled.
    others
        See `likelihoods`.
    """
    factors = np.zeros(width)
    for w in range(first, last):
        begin, end = table[0][w], table[0][w + 1]
        for e in range(begin, end):
            factors[table[1][e]] = 0.0
        for k in range(postings[0][w], postings[0][w + 1]):
            d, count = postings[1][k], np.float64(postings[2][k])
            for i in range(targets[0][d], targets[0][d + 1]):
                factors[targets[1][i]] += count * ratios[i]
        total = 0.0
        for e in range(begin, end):
            total += table[2][e] * factors[table[1][e]]
        scale = 1.0 / total
        for e in range(begin, end):
            table[2][e] *= scale * factors[table[1][e]]
