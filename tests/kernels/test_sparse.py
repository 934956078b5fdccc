"""Rows in vector registers against the same rows by numpy, at widths of one part and of several."""

import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels import jit
from ssi_core.kernels.sparse import aligned_empty, csr, floats, gather, halved, product, scatter
from ssi_core.kernels.training.changes import within
from ssi_core.kernels.vectors import converts_float16

WORDS = 41


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


needs_float16 = pytest.mark.skipif(not converts_float16(), reason="no float16 on this processor")


@needs_float16
@pytest.mark.parametrize("width", [16, 48, 112, 128, 208])
def test_rows_of_float16_are_read_and_written_as_numpy_rounds_them(width):
    rng = np.random.default_rng(width)
    matrix = sparse.random_array((1, WORDS), density=0.5, rng=rng, format="csr", dtype=np.float32)
    wide = aligned_empty(WORDS, width)
    wide[:] = rng.standard_normal((WORDS, width))
    half = halved(wide)
    assert half.dtype == np.uint16
    assert half.ctypes.data % 32 == 0
    np.testing.assert_array_equal(floats(half), wide.astype(np.float16))

    exact = floats(half).astype(np.float64)
    out = np.zeros(width, np.float32)
    gathered(half, csr(matrix), 0, out)
    np.testing.assert_allclose(out, matrix.toarray()[0] @ exact, rtol=1e-5, atol=1e-5)
    whole = np.zeros((1, width), np.float32)
    product(csr(matrix), half, whole)
    np.testing.assert_allclose(whole[0], out, rtol=1e-5, atol=1e-5)

    direction = rng.standard_normal(width).astype(np.float32)
    scattered(half, csr(matrix), 0, np.float32(0.5), direction)
    moved = exact + 0.5 * matrix.toarray()[0][:, None] * direction
    # Half a unit in the last place, and what float32 lost before.
    spacing = np.spacing(np.abs(moved).astype(np.float16)).astype(np.float64)
    assert (np.abs(floats(half) - moved) <= 0.5001 * spacing + 1e-6).all()
    untouched = matrix.toarray()[0] == 0
    np.testing.assert_array_equal(floats(half)[untouched], exact[untouched])


@needs_float16
def test_a_float16_that_overflows_is_out_of_bounds():
    wide = np.full((3, 16), 60_000, np.float32)
    half = halved(wide)
    assert within(half, np.ones(3, np.bool_), np.float32(1e12))
    wide[2, 5] = 70_000
    assert not within(halved(wide), np.ones(3, np.bool_), np.float32(1e12))
