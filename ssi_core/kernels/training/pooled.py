"""The documents d- that the pairs of a block share, and what the diagonal makes of them.

Their products with a query are kept as long as the pairs are of that query. Where many are asked
for, the words of all documents stand in one table: the products of a query with all of them then
take the words that they have in common, and no others. Words that many documents have stand in a
second one, which has a place for each document.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ssi_core.kernels import part
from ssi_core.kernels.sparse import Csr, aligned_empty, clear, count_frequent, dot_spread, spread
from ssi_core.kernels.training.structs import Data, Parameters, Work

LEAST = 64
"""Documents of a pool, unless a pair may try more of them, and pairs of its block."""

_WALKS = 5
"""Products for a pair, in the block before, from which on a block has a table."""

_MOST_FREQUENT, _SHARE, _LOOKED_AT = 2048, 0.125, 1000
"""Of words with a place for each document: how many at most, the share of the documents that have
them in the mean, and the documents that tell."""


class Pool(NamedTuple):
    """The documents d- of a block.

    ``documents`` int64 (P,), P a power of two. ``hats`` and ``moves`` float32 (P, padded N): their
    ``V d-``, and what V is yet to be changed by, of those that ``moved``, bool (P,). ``same``
    float32 (P,): products with a query, of those whose ``run`` int64 (P,) is the number of its run.
    ``words`` int32 (words, 2): how many documents have a word, and where it ends in ``slots`` int32
    and ``values`` float32, whose first place is not used. ``frequent`` float32 (words, P): the
    first words, which are not among these. ``counts`` int64 (3,), see below.
    ``kept`` float32 (pairs,), which threads share: ``q'd+`` of each pair, or NaN.
    """

    documents: Any
    hats: Any
    moves: Any
    moved: Any
    same: Any
    run: Any
    words: Any
    slots: Any
    values: Any
    frequent: Any
    counts: Any
    kept: Any


_RUN, _ASKED, _TABLE = range(3)
"""Number of the run, products that were asked for in the block, 1 if it has a table."""


def size_of_pool(negatives: int) -> int:
    """Return P where so many documents may be tried for a pair."""
    return max(LEAST, 1 << (negatives - 1).bit_length())


def frequent_words(rows: Csr) -> int:
    """Return how many words, the first ones, have a place for each document of a pool."""
    looked_at = min(_LOOKED_AT, len(rows.indptr) - 1)
    words = rows.indices[: rows.indptr[looked_at]]
    return count_frequent(np.bincount(words[words < _MOST_FREQUENT]), _SHARE * looked_at)


def empty_pool(
    negatives: int, width: int, words: int, longest: int, frequent: int, kept: Any
) -> Pool:
    """Return a pool of documents of at most ``longest`` words."""
    size = size_of_pool(negatives)
    room = aligned_empty(2 * size, width)
    room[:] = 0
    return Pool(
        np.zeros(size, np.int64),
        room[:size],
        room[size:],
        np.zeros(size, np.bool_),
        np.zeros(size, np.float32),
        np.zeros(size, np.int64),
        np.zeros((words, 2), np.int32),
        np.zeros(size * longest + 1, np.int32),
        np.zeros(size * longest + 1, np.float32),
        np.zeros((frequent, size), np.float32),
        np.zeros(3, np.int64),
        kept,
    )


def pool_bytes(negatives: int, width: int, words: int, longest: int) -> int:
    """Return the size of `empty_pool` without what it keeps of pairs."""
    frequent = min(words, _MOST_FREQUENT)
    return size_of_pool(negatives) * (8 * width + 8 * longest + 4 * frequent) + 8 * words


# --- diagonals -----------------------------------------------------------------------------------


@part
def _tabulate(data: Data, pool: Pool) -> None:
    """Enter the words of the pool's documents, if products are likely to be worth it."""
    counts, rows = pool.counts, data.diagonal_documents
    counts[_TABLE] = counts[_ASKED] > _WALKS * pool.documents.shape[0]
    counts[_ASKED] = 0
    if counts[_TABLE] == 0:
        return
    for j in range(pool.documents.shape[0]):
        d = pool.documents[j]
        for t in range(rows.indptr[d], rows.indptr[d + 1]):
            i = rows.indices[t]
            if i < pool.frequent.shape[0]:
                pool.frequent[i, j] = rows.data[t]
            else:
                pool.words[i, 0] += 1
    offset = 1
    for j in range(pool.documents.shape[0]):
        d = pool.documents[j]
        for t in range(rows.indptr[d], rows.indptr[d + 1]):
            i = rows.indices[t]
            if i < pool.frequent.shape[0]:
                continue
            if pool.words[i, 1] == 0:
                pool.words[i, 1] = offset
                offset += pool.words[i, 0]
            pool.slots[pool.words[i, 1]] = j
            pool.values[pool.words[i, 1]] = rows.data[t]
            pool.words[i, 1] += 1


@part
def _untabulate(data: Data, pool: Pool) -> None:
    """Take them out again."""
    rows = data.diagonal_documents
    if pool.counts[_TABLE] != 0:
        for j in range(pool.documents.shape[0]):
            d = pool.documents[j]
            for t in range(rows.indptr[d], rows.indptr[d + 1]):
                i = rows.indices[t]
                if i < pool.frequent.shape[0]:
                    pool.frequent[i, j] = 0
                else:
                    pool.words[i, 0] = pool.words[i, 1] = 0


@part
def _begin_run(rows: Csr, q: int, query: Any, pool: Pool) -> None:
    """Begin the run of a query that is spread; with a table, compute all of its products."""
    pool.counts[_RUN] += 1
    if pool.counts[_TABLE] != 0:
        pool.same[:] = 0
        for t in range(rows.indptr[q], rows.indptr[q + 1]):
            i = rows.indices[t]
            x = query[i]
            if i < pool.frequent.shape[0]:
                for j in range(pool.same.shape[0]):
                    pool.same[j] += x * pool.frequent[i, j]
                continue
            end = pool.words[i, 1]
            for e in range(end - pool.words[i, 0], end):
                pool.same[pool.slots[e]] += x * pool.values[e]


@part
def _product(data: Data, query: Any, pool: Pool, j: int) -> np.float32:
    """Return the product of a spread query with a document of the pool."""
    if pool.run[j] != pool.counts[_RUN]:
        pool.run[j] = pool.counts[_RUN]
        pool.counts[_ASKED] += 1
        if pool.counts[_TABLE] == 0:
            pool.same[j] = dot_spread(data.diagonal_documents, pool.documents[j], query)
    product: np.float32 = pool.same[j]
    return product


@part
def _no_table(data: Data, pool: Pool) -> None:
    """No diagonal: no words."""


@part
def _no_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """No diagonal: nothing to do."""


@part
def _no_positive(parameters: Parameters, data: Data, work: Work, pair: int, p: int) -> np.float32:
    """No diagonal: no score."""
    return np.float32(0)


@part
def _no_negative(parameters: Parameters, data: Data, work: Work, j: int) -> np.float32:
    """No diagonal: no score."""
    return np.float32(0)


@part
def _no_step(
    parameters: Parameters, data: Data, work: Work, p: int, j: int, rate: np.float32
) -> None:
    """No diagonal: nothing to learn."""


@part
def _no_clear(data: Data, work: Work, q: int) -> None:
    """No diagonal: nothing was written."""


@part
def _alpha_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """Spread q."""
    spread(data.diagonal_queries, q, work.spread)
    _begin_run(data.diagonal_queries, q, work.spread, work.pool)


@part
def _alpha_positive(
    parameters: Parameters, data: Data, work: Work, pair: int, p: int
) -> np.float32:
    """Score ``alpha q'd+``; the product is computed when the pair is first drawn."""
    product = work.pool.kept[pair]
    if np.isnan(product):
        product = dot_spread(data.diagonal_documents, p, work.spread)
        work.pool.kept[pair] = product
    work.dots[0] = product
    score: np.float32 = parameters.diagonal[0] * product
    return score


@part
def _alpha_negative(parameters: Parameters, data: Data, work: Work, j: int) -> np.float32:
    """Score ``alpha q'd-``."""
    work.dots[1] = _product(data, work.spread, work.pool, j)
    score: np.float32 = parameters.diagonal[0] * work.dots[1]
    return score


@part
def _alpha_step(
    parameters: Parameters, data: Data, work: Work, p: int, j: int, rate: np.float32
) -> None:
    """``alpha += rate q'(d+ - d-)``."""
    parameters.diagonal[0] += rate * (work.dots[0] - work.dots[1])


@part
def _alpha_clear(data: Data, work: Work, q: int) -> None:
    """Clear the scratch."""
    clear(data.diagonal_queries, q, work.spread)


@part
def _weights_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """Spread q and ``D q``."""
    rows = data.diagonal_queries
    for t in range(rows.indptr[q], rows.indptr[q + 1]):
        i = rows.indices[t]
        work.spread[i] = rows.data[t]
        work.words[i] = parameters.diagonal[i] * rows.data[t]
    _begin_run(rows, q, work.words, work.pool)


@part
def _weights_positive(
    parameters: Parameters, data: Data, work: Work, pair: int, p: int
) -> np.float32:
    """Score ``sum_i D_i q_i d+_i``."""
    return dot_spread(data.diagonal_documents, p, work.words)


@part
def _weights_negative(parameters: Parameters, data: Data, work: Work, j: int) -> np.float32:
    """Score ``sum_i D_i q_i d-_i``."""
    return _product(data, work.words, work.pool, j)


@part
def _move_weights(
    parameters: Parameters, data: Data, work: Work, d: int, rate: np.float32
) -> np.float32:
    """``D_i += rate q_i d_i``, and ``D q`` with it; return the score of d since then."""
    rows, score = data.diagonal_documents, np.float32(0)
    for t in range(rows.indptr[d], rows.indptr[d + 1]):
        i, x = rows.indices[t], rows.data[t]
        weight = parameters.diagonal[i] + rate * work.spread[i] * x
        parameters.diagonal[i] = weight
        work.words[i] = weight * work.spread[i]
        score += work.words[i] * x
    return score


@part
def _weights_step(
    parameters: Parameters, data: Data, work: Work, p: int, j: int, rate: np.float32
) -> None:
    """``D_i += rate q_i (d+_i - d-_i)``; the score of d- follows."""
    _move_weights(parameters, data, work, p, rate)
    n = work.pool.documents[j]
    work.pool.same[j] = _move_weights(parameters, data, work, n, -rate)


@part
def _weights_clear(data: Data, work: Work, q: int) -> None:
    """Clear the scratch."""
    clear(data.diagonal_queries, q, work.spread)
    clear(data.diagonal_queries, q, work.words)


@part
def forget(pool: Pool) -> None:
    """Forget how many products were asked for, so that a sweep does not depend on those before."""
    pool.counts[_ASKED] = 0


POOLED = {
    "none": (
        _no_table, _no_table, _no_query, _no_positive, _no_negative, _no_step, _no_clear,
    ),
    "alpha": (
        _tabulate, _untabulate, _alpha_query, _alpha_positive, _alpha_negative, _alpha_step,
        _alpha_clear,
    ),
    "weights": (
        _tabulate, _untabulate, _weights_query, _weights_positive, _weights_negative,
        _weights_step, _weights_clear,
    ),
}  # fmt: skip
"""Kind of diagonal -> (table, its end, query, d+, d-, step, clear)."""
