"""EM of topic models against the equations of the paper, written out in numpy."""

import numpy as np
import pytest
from scipy import optimize, sparse

from ssi_core.guests.clickthrough.kernels.topic_projection import project
from ssi_core.guests.clickthrough.kernels.topics import em_pass, fold_in
from ssi_core.kernels.sparse import csr, read_only

TOPICS, ALPHA, BETA = 4, 1.1, 1.01


def texts(seed, n, words):
    counts = np.random.default_rng(seed).poisson(0.5, (n, words))
    counts[:, 0] += 1
    matrix = sparse.csr_array(counts.astype(np.float32))
    matrix.sort_indices()
    return counts, csr(matrix)


def start(seed, n, words):
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.ones(TOPICS), n).astype(np.float32)
    phi = (rng.dirichlet(np.ones(w), TOPICS).T.astype(np.float32, order="C") for w in words)
    return theta, tuple(phi)


def naive_pass(counts, pairs, theta, phi):
    """Equations (3) to (8), token by token."""
    sums = [np.zeros_like(one, dtype=float) for one in phi]
    likelihood, new = 0.0, np.empty_like(theta, dtype=float)
    for p, rows in enumerate(pairs):
        shares = np.full(TOPICS, ALPHA - 1)
        for side in (0, 1):
            for word, count in enumerate(counts[side][rows[side]]):
                for _ in range(count):
                    joint = phi[side][word].astype(float) * theta[p]
                    likelihood += np.log(joint.sum())
                    posterior = joint / joint.sum()
                    sums[side][word] += posterior
                    shares += posterior
        new[p] = shares / shares.sum()
    prior = (ALPHA - 1) * np.log(theta.astype(float)).sum()
    return likelihood, prior, sums, new


@pytest.fixture
def data():
    counts, arrays = zip(texts(0, 5, 6), texts(1, 4, 7), strict=True)
    pairs = read_only(np.array([[0, 0], [1, 3], [2, 1], [4, 1], [3, 2]], np.int32))
    return counts, arrays, pairs, *start(2, 5, (6, 7))


def passed(arrays, pairs, theta, phi, projected=False):
    sums = tuple(np.zeros(one.shape) for one in phi)
    known = em_pass(*arrays, pairs, theta, phi, sums, ALPHA, projected, np.zeros(2, np.int64))
    return *known, sums


def test_a_pass_is_that_of_the_equations(data):
    counts, arrays, pairs, theta, phi = data
    likelihood, prior, sums, new = naive_pass(counts, pairs, theta, phi)
    ours = passed(arrays, pairs, theta, phi)
    assert ours[:2] == pytest.approx((likelihood, prior), rel=1e-6)
    for mine, naive in zip(ours[2], sums, strict=True):
        np.testing.assert_allclose(mine, naive, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(theta, new, rtol=1e-5)


def test_one_array_for_both_sides_is_one_vocabulary(data):
    counts, arrays, pairs, theta, (_, phi) = data
    wide = (np.pad(counts[0], ((0, 0), (0, 1))), counts[1])
    *_, sums, _ = naive_pass(wide, pairs, theta, (phi, phi))
    both = np.zeros(phi.shape)
    evaluations = np.zeros(2, np.int64)
    em_pass(*arrays, pairs, theta, (phi, phi), (both, both), ALPHA, False, evaluations)
    np.testing.assert_allclose(both, sum(sums), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_em_never_lowers_its_objective(seed, projected):
    (_, left), (_, right) = texts(seed, 12, 12), texts(seed + 50, 12, 15)
    pairs = np.stack([np.arange(12), np.random.default_rng(seed).permutation(12)], 1)
    pairs = read_only(pairs.astype(np.int32))
    theta, phi = start(seed, 12, (12, 15))
    objectives = []
    for _ in range(15):
        prior = (BETA - 1) * sum(np.log(one.astype(float)).sum() for one in phi)
        likelihood, of_theta, sums = passed((left, right), pairs, theta, phi, projected)
        objectives.append(likelihood + of_theta + prior)
        phi = tuple(((BETA - 1 + s) / (BETA - 1 + s).sum(0)).astype(np.float32) for s in sums)
    assert np.diff(objectives).min() > -1e-6 * abs(objectives[-1])
    assert objectives[-1] > objectives[0]


def words_of_a_pair(seed):
    rng = np.random.default_rng(seed)
    posteriors = rng.dirichlet(np.full(TOPICS, 0.2), 7) + 1e-9
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    counts = rng.integers(1, 4, 7).astype(float)
    signs = np.r_[np.full(3, 1 / counts[:3].sum()), np.full(4, -1 / counts[3:].sum())]
    return posteriors, counts, signs


@pytest.mark.parametrize("seed", range(20))
def test_the_projection_is_the_nearest_with_equal_shares(seed):
    posteriors, counts, signs = words_of_a_pair(seed)
    projected, divergence = project(posteriors, counts, signs, np.zeros(2, np.int64))
    np.testing.assert_allclose(projected.sum(axis=1), 1)
    assert np.abs(((counts * signs)[:, None] * projected).sum(axis=0)).max() <= 1e-4
    naive = (counts[:, None] * projected * np.log(projected / posteriors)).sum()
    assert divergence == pytest.approx(naive, abs=1e-9)

    def dual(multipliers):
        tilted = posteriors * np.exp(-np.outer(signs, multipliers))
        return (counts * np.log(tilted.sum(axis=1))).sum()

    best = optimize.minimize(dual, np.zeros(TOPICS), method="BFGS", options={"gtol": 1e-9})
    expected = posteriors * np.exp(-np.outer(signs, best.x))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(projected, expected, atol=2e-4)


def test_texts_that_share_no_topic_are_brought_together():
    posteriors = np.array([[1 - 3e-12, 1e-12, 1e-12, 1e-12], [1e-12, 1 - 3e-12, 1e-12, 1e-12]])
    projected, divergence = project(
        posteriors, np.ones(2), np.array([1.0, -1.0]), np.zeros(2, np.int64)
    )
    np.testing.assert_allclose(projected[0], projected[1], atol=1e-7)
    np.testing.assert_allclose(projected[0, :2], 0.5, atol=1e-5)
    assert np.isfinite(divergence)


def test_evaluations_are_counted():
    evaluations = np.zeros(2, np.int64)
    project(*words_of_a_pair(0), evaluations)
    assert evaluations[0] >= evaluations[1] > 1


def test_folding_in_is_em_of_one_text_alone():
    counts, arrays = texts(3, 3, 7)
    phi = read_only(start(4, 1, (7,))[1][0])
    theta = np.empty((3, TOPICS), np.float32)
    fold_in(arrays, phi, ALPHA, 20, theta)
    for text, row in zip(counts, theta, strict=True):
        weights = np.full(TOPICS, 1 / TOPICS)
        for _ in range(20):
            joint = phi.astype(float) * weights
            posterior = joint / joint.sum(axis=1, keepdims=True)
            shares = ALPHA - 1 + (text[:, None] * posterior).sum(axis=0)
            weights = shares / shares.sum()
        np.testing.assert_allclose(row, weights, rtol=1e-5)


def test_a_text_without_words_has_equal_weights():
    empty = csr(sparse.csr_array((1, 3), dtype=np.float32))
    theta = np.empty((1, TOPICS), np.float32)
    fold_in(empty, read_only(start(0, 1, (3,))[1][0]), ALPHA, 20, theta)
    np.testing.assert_allclose(theta, 1 / TOPICS)
