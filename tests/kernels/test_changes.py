import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels.training.changes import copy_rows, mark_words, within


def test_words_of_marked_texts_are_marked():
    rng = np.random.default_rng(0)
    matrix = sparse.random_array((30, 80), density=0.05, rng=rng, format="csr", dtype=np.float32)
    texts, words = rng.random(30) < 0.3, rng.random(80) < 0.1
    expected = words | (matrix[texts].toarray() != 0).any(axis=0)
    mark_words(texts, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), words)
    np.testing.assert_array_equal(words, expected)


def test_marked_rows_alone_are_copied():
    rng = np.random.default_rng(1)
    source, target = rng.random((2, 20, 5)).astype(np.float32)
    marked = rng.random(20) < 0.5
    expected = np.where(marked[:, None], source, target)
    copy_rows(source, target, marked)
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e12, -1e12, 3e30])
def test_a_number_out_of_bounds_is_found_in_marked_rows_alone(value):
    matrix, marked = np.full((20, 37), 0.9e12, np.float32), np.ones(20, np.bool_)
    assert within(matrix, marked, np.float32(1e12))
    matrix[7, 31] = value
    assert not within(matrix, marked, np.float32(1e12))
    marked[7] = False
    assert within(matrix, marked, np.float32(1e12))
