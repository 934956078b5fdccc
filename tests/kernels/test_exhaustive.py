"""The best of all documents, against a sort of all scores."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ssi_core.kernels.ranking.tiles import ROWS
from ssi_core.kernels.sparse import csr
from ssi_core.scoring import inner as module
from ssi_core.scoring.inner import best_of_all


def whole(rng, rows, columns, share=1.0):
    """Whole numbers, whose sums are exact in any order and often equal."""
    values = rng.integers(-2, 3, (rows, columns)) * (rng.random((rows, columns)) < share)
    return values.astype(np.float32)


def by_sorting(scores, k, hidden, zero):
    """Rows and scores as they are defined; ``zero``: a score of 0 is found."""
    rows = np.full((len(scores), k), -1, np.int32)
    best = np.full((len(scores), k), -np.inf, np.float32)
    for query, row in enumerate(scores):
        able = [
            d for d in range(len(row)) if d not in hidden and row[d] > -np.inf and (zero or row[d])
        ]
        order = sorted(able, key=lambda d: (-row[d], d))[:k]
        rows[query, : len(order)], best[query, : len(order)] = order, row[order]
    return rows, best


@settings(max_examples=60, deadline=None)
@given(
    m=st.sampled_from([1, 2, 5, 6, 32, 33, 70]),
    n=st.sampled_from([1, 2, ROWS, 3 * ROWS + 1, 100]),
    dimensions=st.sampled_from([0, 1, 3, 20]),
    words=st.sampled_from([0, 1, 30]),
    k=st.sampled_from([1, 7, 120]),
    hiding=st.booleans(),
    storage=st.sampled_from([np.float32, np.float16]),
    seed=st.integers(0, 9),
)
def test_the_best_are_those_of_a_sort(m, n, dimensions, words, k, hiding, storage, seed):
    if not dimensions + words:
        return
    rng = np.random.default_rng(seed)
    queries, documents = (whole(rng, rows, dimensions) for rows in (m, n))
    asked, held = (whole(rng, rows, words, 0.3) for rows in (m, n))
    hidden = np.flatnonzero(rng.random(n) < 0.3) if hiding else np.empty(0, np.int64)
    scores = queries.astype(float) @ documents.T + asked.astype(float) @ held.T
    dense = (queries, documents.astype(storage)) if dimensions else (None, None)
    inverted = csr(sparse.csc_array(held))
    some = (csr(sparse.csr_array(asked)), inverted) if words else (None, None)
    block, together = module._BLOCK, module._BLOCK_TOGETHER
    try:
        module._BLOCK, module._BLOCK_TOGETHER = 16, 2 * ROWS
        rows, best = best_of_all(dense[0], some[0], dense[1], some[1], n, k, hidden)
    finally:
        module._BLOCK, module._BLOCK_TOGETHER = block, together
    expected = by_sorting(scores, k, set(hidden.tolist()), zero=dimensions > 0)
    np.testing.assert_array_equal(rows, expected[0])
    np.testing.assert_array_equal(best, expected[1])


@pytest.mark.parametrize("m", [3, 9])
def test_infinity_below_and_nan_are_never_found(m):
    documents = np.array([[1, 0], [-np.inf, 1], [np.nan, 2], [np.inf, 3]], np.float32)
    queries = np.tile(np.array([[1, 0.5]], np.float32), (m, 1))
    with np.errstate(invalid="ignore"):  # 0 times infinity
        rows, best = best_of_all(queries, None, documents, None, 4, 4)
    assert rows.tolist() == [[3, 0, -1, -1]] * m
    assert best.tolist() == [[np.inf, 1, -np.inf, -np.inf]] * m


@pytest.mark.parametrize("m", [2, 40])
def test_sparse_scores_have_the_bits_of_a_sum_in_the_order_of_words(m):
    rng = np.random.default_rng(0)
    asked, held = (
        sparse.csr_array(sparse.random_array((rows, 40), density=0.5, dtype=np.float32, rng=rng))
        for rows in (m, 50)
    )
    rows, best = best_of_all(None, csr(asked), None, csr(held.tocsc()), 50, 50)
    a, b = asked.toarray(), held.toarray()
    for query in range(m):
        for row, score in zip(rows[query], best[query], strict=True):
            total = np.float32(0)
            for word in np.flatnonzero(a[query]):
                total += a[query, word] * b[row, word]
            assert row < 0 or score == total


def test_no_array_has_an_entry_for_each_query_and_document():
    rng = np.random.default_rng(0)
    documents, queries = whole(rng, 1000, 2), whole(rng, 64, 2)
    best_of_all(queries, None, documents, None, 1000, 3)
    tracemalloc.start()
    best_of_all(queries, None, documents, None, 1000, 3)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < documents.itemsize * len(queries) * len(documents) / 2
