"""Forms of ``W`` with a weight for each pair of words; a step costs ``|q| |d|`` or ``|q| p``.

==========  =============================================================================
"dense"     ``W`` float32 (words of queries, words of documents)
"hollow"    the same, ``W_ss`` stays zero: only other words than the query's own count
"sparse"    ``W`` is a `Csr` whose pattern stays: p weights a row (journal paper, Algorithm 2)
"hashed"    ``W`` float32 (H,): pair (s, t) has the weight ``W[(s P + t) mod H]`` (eq. (5))
==========  =============================================================================

``f`` is linear in ``W``, so a step never reads what it wrote. The bucket of (s, t + 1) is the one
after that of (s, t): a row of a hashed ``W`` is a run of buckets, and costs one division.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ssi_core.kernels import jit, jit_fast
from ssi_core.kernels.sparse import clear, spread

if TYPE_CHECKING:
    from ssi_core.kernels.forms import Data, Parameters, Work

PRIME = 2147483647
"""P of the hash: P mod H is far from 0, H and its simple fractions for H from 1 to 10 million."""

_PRIME = np.uint64(PRIME)


@jit
def pairs_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """Hold the query: its words meet those of each document."""
    work.held[0] = q


# --- dense ---------------------------------------------------------------------------------------


@jit_fast
def dense_document(parameters: Parameters, data: Data, work: Work, d: int, slot: int) -> np.float32:
    """Score ``sum_st q_s W_st d_t``."""
    queries, documents, q = data.queries, data.documents, work.held[0]
    total = np.float32(0)
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        row, part = parameters.W[queries.indices[i]], np.float32(0)
        for t in range(documents.indptr[d], documents.indptr[d + 1]):
            part += row[documents.indices[t]] * documents.data[t]
        total += queries.data[i] * part
    return total


@jit
def dense_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``W += rate q (d+ - d-)'``."""
    queries, documents = data.queries, data.documents
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        row, x = parameters.W[queries.indices[i]], rate * queries.data[i]
        for t in range(documents.indptr[p], documents.indptr[p + 1]):
            row[documents.indices[t]] += x * documents.data[t]
        for t in range(documents.indptr[n], documents.indptr[n + 1]):
            row[documents.indices[t]] -= x * documents.data[t]


@jit
def hollow_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``W += rate q (d+ - d-)'``, then ``W_ss = 0`` again."""
    dense_step(parameters, data, work, q, p, n, rate)
    queries = data.queries
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        s = queries.indices[i]
        parameters.W[s, s] = 0


# --- sparse --------------------------------------------------------------------------------------


@jit_fast
def sparse_document(
    parameters: Parameters, data: Data, work: Work, d: int, slot: int
) -> np.float32:
    """Score ``sum_st q_s W_st d_t`` over the pattern of W: the document is spread out for it."""
    queries, W, q = data.queries, parameters.W, work.held[0]
    spread(data.documents, d, work.words)
    total = np.float32(0)
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        s, part = queries.indices[i], np.float32(0)
        for t in range(W.indptr[s], W.indptr[s + 1]):
            part += W.data[t] * work.words[W.indices[t]]
        total += queries.data[i] * part
    clear(data.documents, d, work.words)
    return total


@jit
def sparse_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``W += rate q (d+ - d-)'`` over the pattern of W."""
    queries, documents, W = data.queries, data.documents, parameters.W
    spread(documents, p, work.words)
    for t in range(documents.indptr[n], documents.indptr[n + 1]):
        work.words[documents.indices[t]] -= documents.data[t]
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        s, x = queries.indices[i], rate * queries.data[i]
        for t in range(W.indptr[s], W.indptr[s + 1]):
            W.data[t] += x * work.words[W.indices[t]]
    clear(documents, p, work.words)
    clear(documents, n, work.words)


# --- hashed --------------------------------------------------------------------------------------


@jit
def run_of(s: int, buckets: int) -> int:
    """Return the bucket of the pair (s, 0), ``s P mod H``; that of (s, t) is t further, modulo H.

    All operands are uint64: numba turns uint64 with int64 into float64.
    """
    return np.int64(np.uint64(s) * _PRIME % np.uint64(buckets))  # type: ignore[return-value]


@jit
def bucket(first: int, t: int, buckets: int) -> int:
    """Return the bucket ``t`` places after ``first``, modulo H."""
    place = first + t
    if place >= buckets:
        place -= buckets
        if place >= buckets:
            place %= buckets
    return place


@jit
def is_whole(first: int, matrix: Any, row: int, buckets: int) -> bool:
    """Whether the buckets of a row's words lie in one run that does not go round."""
    end = matrix.indptr[row + 1]
    return bool(end == matrix.indptr[row] or first + matrix.indices[end - 1] < buckets)


@jit_fast
def hashed_document(
    parameters: Parameters, data: Data, work: Work, d: int, slot: int
) -> np.float32:
    """Score ``sum_st q_s W[h(s, t)] d_t``."""
    queries, documents, q = data.queries, data.documents, work.held[0]
    W, buckets = parameters.W, parameters.W.shape[0]
    total = np.float32(0)
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        first, part = run_of(queries.indices[i], buckets), np.float32(0)
        if is_whole(first, documents, d, buckets):
            row = W[first:]
            for t in range(documents.indptr[d], documents.indptr[d + 1]):
                part += row[documents.indices[t]] * documents.data[t]
        else:
            for t in range(documents.indptr[d], documents.indptr[d + 1]):
                part += W[bucket(first, documents.indices[t], buckets)] * documents.data[t]
        total += queries.data[i] * part
    return total


@jit
def add_to_run(W: Any, first: int, matrix: Any, row: int, x: np.float32) -> None:
    """Add a row's words, times x, to their buckets."""
    buckets = W.shape[0]
    if is_whole(first, matrix, row, buckets):
        weights = W[first:]
        for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
            weights[matrix.indices[t]] += x * matrix.data[t]
    else:
        for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
            W[bucket(first, matrix.indices[t], buckets)] += x * matrix.data[t]


@jit
def hashed_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``W[h(s, t)] += rate q_s (d+_t - d-_t)``; pairs that share a bucket add up."""
    queries, W = data.queries, parameters.W
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        first, x = run_of(queries.indices[i], W.shape[0]), rate * queries.data[i]
        add_to_run(W, first, data.documents, p, x)
        add_to_run(W, first, data.documents, n, -x)


@jit_fast
def hashed_rows(W: Any, queries: Any, out: Any) -> None:
    """Add ``q' W`` of each query to a row of ``out``, float32 (queries, words of documents)."""
    buckets, words = W.shape[0], out.shape[1]
    for q in range(out.shape[0]):
        row = out[q]
        for i in range(queries.indptr[q], queries.indptr[q + 1]):
            place, x, t = run_of(queries.indices[i], buckets), queries.data[i], 0
            while t < words:
                length = min(words - t, buckets - place)
                weights, target = W[place : place + length], row[t : t + length]
                for r in range(length):
                    target[r] += x * weights[r]
                t += length
                place = 0


@jit
def loads(rows: int, words: int, buckets: int) -> Any:
    """Count the pairs (s, t), s < rows, t < words, in each bucket: int64 (buckets,).

    A row is a run of buckets, so that its two ends are all that has to be marked.
    """
    marks = np.zeros(buckets + 1, np.int64)
    whole, rest = words // buckets, words % buckets
    for s in range(rows):
        first = run_of(s, buckets)
        end = first + rest
        marks[first] += 1
        marks[min(end, buckets)] -= 1
        if end > buckets:
            marks[0] += 1
            marks[end - buckets] -= 1
    total = np.int64(rows * whole)
    found = np.empty(buckets, np.int64)
    for b in range(buckets):
        total += marks[b]
        found[b] = total
    return found
