"""Forms of ``W`` with a weight for each pair of words; a step costs ``|q| |d|`` or ``|q| p``.

===============  ===================================================================================
"dense"          ``W`` float32 (words of queries, words of documents)
"zero_diagonal"  the same, ``W_ss`` stays zero: only other words than the query's own count
"sparse"         ``W`` is a `Csr` whose pattern stays: p weights a row (journal paper, Algorithm 2)
"hashed"         ``W`` float32 (H,): pair (s, t) has the weight ``W[(s P + t) mod H]`` (eq. (5))
===============  ===================================================================================

``f`` is linear in ``W``, so a step never reads what it wrote. The bucket of (s, t + 1) is the one
after that of (s, t): a row of a hashed ``W`` is a run of buckets, and costs one division. A dense
``W`` is a hashed one whose pairs never meet: P is the number of words of documents, H of all pairs.

A document is met with four rows at once: its words are read once for them, and four weights that
may be anywhere in memory are waited for together. That takes 0.4 of the time of a row at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ssi_core.kernels import jit, jit_fast, jit_making, part, part_fast
from ssi_core.kernels.sparse import Csr, clear, spread
from ssi_core.kernels.training.structs import Data, Parameters, Work

PRIME = 2147483647
"""P of the hash: P mod H is far from 0, H and its simple fractions for H from 1 to 10 million."""

_PRIME = np.uint64(PRIME)
_ZERO = np.float32(0)


@part
def pairs_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """Hold the query: its words meet those of each document."""
    work.held[0] = q


# --- four rows at once ---------------------------------------------------------------------------


@part
def run_of(s: int, step: np.uint64, buckets: np.uint64) -> np.uint64:
    """Return the bucket of the pair (s, 0), ``s P mod H``; that of (s, t) is t further, modulo H.

    All operands are uint64: numba turns uint64 with int64 into float64, and would look whether an
    index is negative.
    """
    return np.uint64(s) * step % buckets


@part
def four_rows(queries: Csr, i: int, end: int, step: np.uint64, buckets: np.uint64) -> Any:
    """Runs and values of the words i to i + 3 of a query; beyond its end the value is zero."""
    j, k, m = min(i + 1, end - 1), min(i + 2, end - 1), min(i + 3, end - 1)
    runs = (
        run_of(queries.indices[i], step, buckets),
        run_of(queries.indices[j], step, buckets),
        run_of(queries.indices[k], step, buckets),
        run_of(queries.indices[m], step, buckets),
    )
    values = (
        queries.data[i],
        queries.data[j] if i + 1 < end else _ZERO,
        queries.data[k] if i + 2 < end else _ZERO,
        queries.data[m] if i + 3 < end else _ZERO,
    )
    return runs, values


@part
def goes_round(runs: Any, documents: Csr, d: int, buckets: np.uint64) -> bool:
    """Tell whether a bucket of the document lies beyond the last, and so wraps to the first."""
    end = documents.indptr[d + 1]
    if end == documents.indptr[d]:
        return False
    furthest = max(max(runs[0], runs[1]), max(runs[2], runs[3]))
    return bool(furthest + np.uint64(documents.indices[end - 1]) >= buckets)


def _four(*, round_: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the kernels that meet a document with four runs, which may go round, or never do."""

    @part
    def word(t: int, buckets: np.uint64) -> np.uint64:
        at = np.uint64(t)
        if round_ and at >= buckets:
            at %= buckets
        return at

    @part
    def bucket(run: np.uint64, word: np.uint64, buckets: np.uint64) -> np.uint64:
        at = run + word
        if round_ and at >= buckets:
            at -= buckets
        return at

    @part
    def score(W: Any, runs: Any, x: Any, documents: Csr, d: int) -> np.float32:
        buckets = np.uint64(W.shape[0])
        a, b, c, e = _ZERO, _ZERO, _ZERO, _ZERO
        for i in range(documents.indptr[d], documents.indptr[d + 1]):
            t, y = word(documents.indices[i], buckets), documents.data[i]
            a += W[bucket(runs[0], t, buckets)] * y
            b += W[bucket(runs[1], t, buckets)] * y
            c += W[bucket(runs[2], t, buckets)] * y
            e += W[bucket(runs[3], t, buckets)] * y
        total: np.float32 = x[0] * a + x[1] * b + x[2] * c + x[3] * e
        return total

    @part
    def add(W: Any, runs: Any, x: Any, rate: np.float32, documents: Csr, d: int) -> None:
        buckets = np.uint64(W.shape[0])
        a, b, c, e = rate * x[0], rate * x[1], rate * x[2], rate * x[3]
        for i in range(documents.indptr[d], documents.indptr[d + 1]):
            t, y = word(documents.indices[i], buckets), documents.data[i]
            W[bucket(runs[0], t, buckets)] += a * y
            W[bucket(runs[1], t, buckets)] += b * y
            W[bucket(runs[2], t, buckets)] += c * y
            W[bucket(runs[3], t, buckets)] += e * y

    return score, add


_score_straight, _add_straight = _four(round_=False)
_score_round, _add_round = _four(round_=True)


@jit
def pairs_score(
    W: Any, step: np.uint64, queries: Csr, q: int, documents: Csr, d: int
) -> np.float32:
    """Score ``sum_st q_s W[(s step + t) mod H] d_t``."""
    buckets = np.uint64(W.shape[0])
    total, end = np.float32(0), queries.indptr[q + 1]
    for i in range(queries.indptr[q], end, 4):
        runs, x = four_rows(queries, i, end, step, buckets)
        if goes_round(runs, documents, d, buckets):
            total += _score_round(W, runs, x, documents, d)
        else:
            total += _score_straight(W, runs, x, documents, d)
    return total


@jit
def pairs_add(
    W: Any, step: np.uint64, queries: Csr, q: int, documents: Csr, d: int, rate: np.float32
) -> None:
    """``W[(s step + t) mod H] += rate q_s d_t``; pairs that share a bucket add up."""
    buckets, end = np.uint64(W.shape[0]), queries.indptr[q + 1]
    for i in range(queries.indptr[q], end, 4):
        runs, x = four_rows(queries, i, end, step, buckets)
        if goes_round(runs, documents, d, buckets):
            _add_round(W, runs, x, rate, documents, d)
        else:
            _add_straight(W, runs, x, rate, documents, d)


# --- dense ---------------------------------------------------------------------------------------


@part
def dense_document(parameters: Parameters, data: Data, work: Work, d: int, slot: int) -> np.float32:
    """Score ``sum_st q_s W_st d_t``."""
    W, words = parameters.W.reshape(parameters.W.size), np.uint64(parameters.W.shape[1])
    return pairs_score(W, words, data.queries, work.held[0], data.documents, d)


@part
def dense_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``W += rate q (d+ - d-)'``."""
    W, words = parameters.W.reshape(parameters.W.size), np.uint64(parameters.W.shape[1])
    pairs_add(W, words, data.queries, q, data.documents, p, rate)
    pairs_add(W, words, data.queries, q, data.documents, n, -rate)


@part
def zero_diagonal_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``W += rate q (d+ - d-)'``, then ``W_ss = 0`` again."""
    dense_step(parameters, data, work, q, p, n, rate)
    queries = data.queries
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        s = queries.indices[i]
        parameters.W[s, s] = 0


# --- sparse --------------------------------------------------------------------------------------


@part_fast
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


@part
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


@part
def hashed_document(
    parameters: Parameters, data: Data, work: Work, d: int, slot: int
) -> np.float32:
    """Score ``sum_st q_s W[h(s, t)] d_t``."""
    return pairs_score(parameters.W, _PRIME, data.queries, work.held[0], data.documents, d)


@part
def hashed_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``W[h(s, t)] += rate q_s (d+_t - d-_t)``."""
    pairs_add(parameters.W, _PRIME, data.queries, q, data.documents, p, rate)
    pairs_add(parameters.W, _PRIME, data.queries, q, data.documents, n, -rate)


@jit
def first_bucket(s: int, buckets: int) -> int:
    """Return the bucket of the pair (s, 0) of a hashed W as a signed number."""
    return np.int64(run_of(s, _PRIME, np.uint64(buckets)))  # type: ignore[return-value]


@jit_fast
def hashed_rows(W: Any, queries: Any, out: Any) -> None:
    """Add ``q' W`` of each query to a row of ``out``, float32 (queries, words of documents)."""
    buckets, words = W.shape[0], out.shape[1]
    for q in range(out.shape[0]):
        row = out[q]
        for i in range(queries.indptr[q], queries.indptr[q + 1]):
            at, x, t = first_bucket(queries.indices[i], buckets), queries.data[i], 0
            while t < words:
                length = min(words - t, buckets - at)
                weights, target = W[at : at + length], row[t : t + length]
                for r in range(length):
                    target[r] += x * weights[r]
                t += length
                at = 0


@jit_making
def loads(rows: int, words: int, buckets: int) -> Any:
    """Count the pairs (s, t), s < rows, t < words, in each bucket: int64 (buckets,).

    A row is a run of buckets, so that its two ends are all that has to be marked.
    """
    marks = np.zeros(buckets + 1, np.int64)
    whole, rest = words // buckets, words % buckets
    for s in range(rows):
        first = first_bucket(s, buckets)
        end = first + rest
        marks[first] += 1
        marks[min(end, buckets)] -= 1
        if end > buckets:
            marks[0] += 1
            marks[end - buckets] -= 1
    total = np.int64(rows * whole)
    counts = np.empty(buckets, np.int64)
    for b in range(buckets):
        total += marks[b]
        counts[b] = total
    return counts
