"""Rows in vector registers against the same rows by numpy, at widths of one part and of several."""

import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels import jit
from ssi_core.kernels.sparse import aligned_empty, csr, gather, product, scatter

WORDS = 40


@jit
def gathered(embedding, matrix, row, out):
    gather(embedding, matrix, row, out)


@jit
def scattered(embedding, matrix, row, scale, direction):
    scatter(embedding, matrix, row, scale, direction)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def rows(rng):
    """No word, one, fewer than are asked for ahead, and more."""
    matrix = np.zeros((4, WORDS), np.float32)
    for row, count in enumerate((0, 1, 5, 30)):
        matrix[row, rng.choice(WORDS, count, replace=False)] = rng.normal(size=count)
    return sparse.csr_array(matrix)


def embedding(rng, width):
    made = aligned_empty(WORDS, width)
    made[:] = rng.normal(size=(WORDS, width))
    return made


@pytest.mark.parametrize("width", [16, 32, 96, 112, 128, 208, 240])
def test_gather_is_the_product(rng, width):
    matrix, E = rows(rng), embedding(rng, width)
    for row in range(4):
        out = np.full(width, 7, np.float32)
        gathered(E, csr(matrix), row, out)
        np.testing.assert_allclose(out, matrix[[row]].toarray()[0] @ E, atol=1e-5)


@pytest.mark.parametrize("width", [16, 32, 96, 112, 128, 208, 240])
def test_scatter_adds_the_outer_product(rng, width):
    matrix, E = rows(rng), embedding(rng, width)
    direction = rng.normal(size=width).astype(np.float32)
    for row in range(4):
        expected = E + np.outer(0.5 * matrix[[row]].toarray()[0], direction)
        scattered(E, csr(matrix), row, np.float32(0.5), direction)
        np.testing.assert_allclose(E, expected, atol=1e-5)


def test_the_same_bits_again(rng):
    matrix, E = csr(rows(rng)), embedding(rng, 112)
    one, two = np.empty(112, np.float32), np.empty(112, np.float32)
    gathered(E, matrix, 3, one)
    gathered(E, matrix, 3, two)
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("width", [1, 16, 37, 100, 112])
def test_a_product_has_the_bits_of_scipy_whatever_the_padding(width):
    rng = np.random.default_rng(width)
    matrix = sparse.random_array((50, 300), density=0.1, rng=rng, format="csr", dtype=np.float32)
    embedding = rng.standard_normal((300, 112)).astype(np.float32)
    out = np.full((50, width), np.nan, np.float32)
    product(csr(matrix), embedding, out)
    expected = matrix @ np.ascontiguousarray(embedding[:, :width])
    np.testing.assert_array_equal(out, expected)
