"""The nearest documents by signs, where there are fewer than are asked for."""

import numpy as np
import pytest

from ssi_core.kernels.ranking.candidates import nearest_by_signs


@pytest.mark.parametrize("wanted", [1, 3, 5, 9])
def test_places_without_a_document_are_empty_whatever_stood_there(wanted):
    n, queries, block = 5, 2, 4
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2**63, (2, n)).astype(np.uint64)
    asked = rng.integers(0, 2**63, (queries, 2)).astype(np.uint64)
    rows = np.full((queries, 2 * wanted), 77, np.int32)
    best = np.full((queries, 2 * wanted), 1e9, np.float32)
    scratch = np.empty(block, np.int32), np.empty(block, np.float32)
    held = np.full(queries, 3, np.int64), np.full(queries, 1e9, np.float32)
    lengths = np.arange(1, n + 1, dtype=np.float32)
    nearest_by_signs(codes, lengths, asked, *scratch, rows, best, *held)
    for query in range(queries):
        differing = codes ^ asked[query][:, None]
        far = [sum(int(word).bit_count() for word in column) for column in differing.T]
        scores = lengths * (128 - 2 * np.array(far))
        expected = np.argsort(-scores)[:wanted]
        found = rows[query, :wanted]
        assert set(found.tolist()) == {*expected.tolist(), *[-1] * (wanted > n)}
        np.testing.assert_allclose(best[query, :wanted][found >= 0], scores[found[found >= 0]])
        assert (best[query, :wanted][found < 0] == -np.inf).all()
