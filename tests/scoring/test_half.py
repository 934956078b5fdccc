"""Dense vectors of documents as float16: scores are those of the rounded vectors in float32."""

import numpy as np
import pytest

from ssi_core.kernels.ranking.scores import widen_rows
from ssi_core.kernels.sparse import read_only
from ssi_core.scoring import half
from ssi_core.scoring.half import half_products
from ssi_core.scoring.scorer import Scorer, score_pairs
from ssi_core.scoring.vectors import Inner, wide
from tests.scoring.test_scorer import by_numpy, random_vectors


def halved(vectors):
    return Inner(vectors.sparse, vectors.dense.astype(np.float16))


def test_every_float16_is_widened_to_itself():
    numbers = np.arange(2**16, dtype=np.uint16)
    widened = np.empty((2**12, 16), np.float32)
    widen_rows(read_only(numbers.reshape(-1, 16)), widened)
    expected = numbers.view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(widened.ravel(), expected)
    np.testing.assert_array_equal(wide(numbers.view(np.float16)), expected)


def test_float32_stays_as_it_is():
    rows = np.ones((2, 3), np.float32)
    assert wide(rows) is rows


@pytest.mark.parametrize("count", [1, 4, 5])
@pytest.mark.parametrize("converts", [True, False])
@pytest.mark.parametrize("rows_of_a_block", [1, 4, 100])
def test_inner_products_are_those_of_the_rounded_rows(
    rows_of_a_block, converts, count, monkeypatch
):
    monkeypatch.setattr(half, "converts_float16", lambda: converts)
    monkeypatch.setattr(half, "_BLOCK_BYTES", rows_of_a_block * 4 * 5)
    rng = np.random.default_rng(0)
    queries = rng.standard_normal((count, 5)).astype(np.float32)
    documents = rng.standard_normal((11, 5)).astype(np.float16)
    found = half_products(queries, documents)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, queries.astype(float) @ documents.T.astype(float), atol=1e-5)


def test_scores_and_pairs_of_halved_documents_are_those_of_their_rounded_numbers():
    rng = np.random.default_rng(1)
    queries, documents = (random_vectors(rng, rows, ("sparse", "dense")) for rows in (7, 9))
    documents = halved(documents)
    expected = by_numpy(queries, documents)
    np.testing.assert_allclose(Scorer(documents).score(queries), expected, atol=1e-5)
    rows = np.argwhere(np.ones((7, 9))).astype(np.int32)
    pairs = score_pairs(queries, documents, rows)
    np.testing.assert_allclose(pairs, expected.ravel(), atol=1e-5)
    assert documents.take(slice(0, 3)).dense.dtype == np.float32
