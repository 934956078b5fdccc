"""Singular vectors: the subspace of svds, on spectra of texts and on hard ones."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import svds

from ssi_core.models.latent.products import Products
from ssi_core.models.latent.svd import leading_vectors
from ssi_core.tasks.task import build_task, open_task
from tests.datasets.dumps import real_data

pytestmark = pytest.mark.trains


def overlap(one, other):
    """Share of a subspace that lies in another of the same dimension; 1 where they are equal."""
    return np.linalg.norm(one.T @ other) ** 2 / one.shape[1]


def zipf(rows, columns, seed=0, words=60):
    """Texts of words by Zipf's law, on a few hundred subjects: a spectrum that falls slowly."""
    rng = np.random.default_rng(seed)
    subjects = rng.integers(0, 300, rows)
    drawn = rng.zipf(1.3, (rows, words)) * (1 + subjects[:, None]) % columns
    indices = np.repeat(np.arange(rows), words), drawn.ravel()
    counts = sparse.csr_array((np.ones(rows * words), indices), shape=(rows, columns))
    counts.sum_duplicates()
    counts.data = np.float32(1 + np.log(counts.data))
    lengths = np.sqrt(np.asarray((counts**2).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / lengths) @ counts).astype(np.float32)


@cache
def of_scipy(rows, columns):
    """A matrix of texts, and its 81 leading vectors, the first first."""
    matrix = zipf(rows, columns)
    _, _, right = svds(matrix.astype(np.float64), k=81, rng=np.random.default_rng(1))
    return matrix, right[::-1].T


@pytest.mark.parametrize("shape", [(900, 3000), (3000, 900)])
@pytest.mark.parametrize("basis_bytes", [1, 1 << 30], ids=["restarts", "at once"])
def test_the_subspaces_are_those_of_svds(shape, basis_bytes):
    (matrix, right), wanted = of_scipy(*shape), (10, 40, 80)
    factors = leading_vectors(matrix, wanted, np.random.default_rng(0), basis_bytes=basis_bytes)
    assert factors.dimensions == {n: n for n in wanted}
    assert 0 < factors.residual <= 0.01
    for n in wanted:
        assert overlap(factors.vectors[:, :n], right[:, :n]) > 1 - 1e-4
    np.testing.assert_allclose(factors.vectors.T @ factors.vectors, np.eye(80), atol=1e-4)


def test_the_residual_is_the_one_that_is_stated():
    matrix = zipf(900, 3000)
    loose = leading_vectors(matrix, [40], np.random.default_rng(0), tolerance=0.5)
    tight = leading_vectors(matrix, [40], np.random.default_rng(0), tolerance=1e-6)
    gram = (matrix @ matrix.T).toarray().astype(np.float64)
    values = np.linalg.eigvalsh(gram)[::-1]
    for factors, bound in ((loose, 0.5), (tight, 1e-4)):  # float32 ends at about 1e-5
        V = factors.vectors.astype(np.float64)
        image = matrix.T @ (matrix @ V)
        residual = np.linalg.norm(image - V @ (V.T @ image)) / (values[39] - values[40])
        assert residual <= bound


@pytest.fixture(scope="module")
def falling():
    """A random matrix whose columns become smaller, its Gram matrix and the eigenvalues of that."""
    rng = np.random.default_rng(0)
    random = sparse.random_array((3000, 1999), density=0.01, rng=rng, dtype=np.float32)
    smaller = sparse.diags_array((1 / np.arange(1, 2000) ** 0.3).astype(np.float32))
    matrix = sparse.csr_array(random @ smaller)
    gram = (matrix.T.astype(np.float64) @ matrix).toarray()
    return matrix, gram, np.linalg.eigvalsh(gram)[::-1]


@pytest.mark.parametrize("n", [50, 100])
@pytest.mark.parametrize("basis_bytes", [1, 1 << 22], ids=["least", "no whole blocks"])
def test_the_residual_is_the_one_that_is_said_after_restarts(falling, n, basis_bytes):
    matrix, gram, values = falling
    factors = leading_vectors(matrix, [n], np.random.default_rng(0), basis_bytes=basis_bytes)
    V = factors.vectors.astype(np.float64)
    residual = np.linalg.norm(gram @ V - V @ (V.T @ gram @ V)) / (values[n - 1] - values[n])
    assert residual <= 0.01
    assert residual == pytest.approx(factors.residual, rel=1e-3)


def test_the_same_seed_gives_the_same_bits():
    one, two = (leading_vectors(zipf(900, 2000), [30], np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one.vectors, two.vectors)


@pytest.mark.parametrize("shape", [(3000, 600), (300, 600), (600, 200)])
def test_a_column_without_entries_has_a_row_of_zeros(shape):
    """A word that no text has says nothing: a query of such words alone finds no text."""
    matrix = zipf(*shape).tolil()
    matrix[:, ::7] = 0
    factors = leading_vectors(sparse.csr_array(matrix), [30], np.random.default_rng(0))
    assert not factors.vectors[::7].any()


def test_an_n_without_a_gap_after_it_is_moved():
    # Twenty copies of one text and eight texts of their own: s = sqrt(20), 1 (eight times), 0.
    matrix = np.zeros((28, 40), np.float32)
    matrix[:20, 0] = 1
    matrix[np.arange(20, 28), np.arange(1, 9)] = 1
    factors = leading_vectors(sparse.csr_array(matrix), [5, 9, 20], np.random.default_rng(0))
    assert factors.dimensions == {5: 1, 9: 9, 20: 9}
    assert factors.vectors.shape == (40, 9)


@pytest.mark.parametrize("n", [600, 900])
def test_a_matrix_of_low_rank_has_no_more_vectors_than_its_rank(n):
    rng = np.random.default_rng(0)
    left = sparse.random_array((n, 12), density=0.3, rng=rng)
    matrix = sparse.csr_array(left @ sparse.random_array((12, 700), density=0.3, rng=rng))
    factors = leading_vectors(matrix.astype(np.float32), [100], rng)
    assert factors.dimensions == {100: 12}
    _, _, right = np.linalg.svd(matrix.toarray(), full_matrices=False)
    assert overlap(factors.vectors, right[:12].T) > 1 - 1e-6


@pytest.mark.slow
def test_on_wikispeedia(tmp_path):
    from tests.sources import ingest

    ingest("wikispeedia", real_data("wikispeedia"), tmp_path / "corpus")
    build_task(tmp_path / "corpus", tmp_path / "task", views=("raw", "sublinear"))
    for view in ("raw", "sublinear"):
        matrix = open_task(tmp_path / "task").documents.matrix(view)
        factors = leading_vectors(matrix, [50, 100, 200], np.random.default_rng(0))
        right = svds(sparse.csr_array(matrix, dtype=np.float64), k=201)[2][::-1].T
        for n in (50, 100, 200):
            assert overlap(factors.vectors[:, :n], right[:, :n]) > 0.9999


@pytest.mark.parametrize("shape", [(700, 900), (900, 700)])
def test_products_are_those_of_scipy_and_the_same_on_two_threads(shape):
    matrix, rng = zipf(*shape), np.random.default_rng(0)
    A = matrix.astype(np.float64)
    for k in (1, 16, 40):
        right, left = rng.standard_normal((shape[1], k)), rng.standard_normal((shape[0], k))
        one, two = Products(matrix), Products(matrix, threads=2)
        for name, block, expected in (
            ("gram", right, A.T @ (A @ right)),
            ("outer", left, A @ (A.T @ left)),
            ("transposed", left, A.T @ left),
        ):
            product = getattr(one, name)(block)
            np.testing.assert_allclose(product, expected, rtol=1e-12, atol=1e-12)
            assert np.array_equal(getattr(two, name)(block), product)
