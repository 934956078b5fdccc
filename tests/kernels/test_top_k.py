import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_core.kernels.ranking.best import best_again, top_k


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(
        st.sampled_from([-2.0, -0.0, 0.0, 0.5, 3.0, float("inf"), float("-inf"), float("nan")]),
        max_size=30,
    ),
    k=st.integers(0, 12),
)
def test_top_k_equals_a_sort_with_ties_by_ascending_column(scores, k):
    block = np.array([scores, scores[::-1]], dtype=np.float32)
    best, best_score = np.full((2, k), 7, np.int32), np.full((2, k), 7, np.float32)
    top_k(block, best, best_score)
    for row, found, values in zip(block, best, best_score, strict=True):
        able = [c for c in range(len(row)) if row[c] > -np.inf]
        expected = sorted(able, key=lambda c: (-row[c], c))[:k]
        padding = k - len(expected)
        assert found.tolist() == expected + [-1] * padding
        assert values.tolist() == [row[c] for c in expected] + [-np.inf] * padding


def test_top_k_of_a_long_row():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 300, (3, 2000)).astype(np.float32)
    best, best_score = np.empty((3, 50), np.int32), np.empty((3, 50), np.float32)
    top_k(scores, best, best_score)
    assert (best == np.argsort(-scores, axis=1, kind="stable")[:, :50]).all()


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.integers(-1, 6), max_size=12),
    k=st.integers(0, 8),
    seed=st.integers(0, 99),
)
def test_the_best_again_are_a_sort_by_score_and_row(rows, k, seed):
    rng = np.random.default_rng(seed)
    query = rng.integers(-2, 3, 5).astype(np.float32)
    documents = rng.integers(-2, 3, (len(rows), 5)).astype(np.float32)
    scores = rng.integers(-1, 2, len(rows)).astype(np.float32)
    chosen, best = np.full(k, 7, np.int32), np.full(k, 7, np.float32)
    best_again(query, documents, np.array(rows, np.int32), scores, chosen, best)
    totals = scores + documents @ query
    able = [(-total, row) for total, row in zip(totals.tolist(), rows, strict=True) if row >= 0]
    expected = sorted(able)[:k]
    padding = k - len(expected)
    assert chosen.tolist() == [row for _, row in expected] + [-1] * padding
    assert best.tolist() == [-total for total, _ in expected] + [-np.inf] * padding
