"""The sweep of a group of two objectives against finite differences and against a naive twin."""

import numba
import numpy as np
import pytest

from ssi_core.kernels.sparse import csr
from ssi_core.kernels.training.forms import DIAGONALS
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import Data, Parameters, Settings
from ssi_core.kernels.training.sweep import HINGE, SKIPPED, TRIPLES, VIOLATED, Group
from tests.kernels.test_sweep import WORDS, N, embedding, rows, swept

GAMMA = 0.3


def rare_if_compiled(diagonal):
    """A sweep that no model of another test needs is slow; as Python it is always tested."""
    rare = diagonal == "weights" and not numba.config.DISABLE_JIT
    return pytest.param(diagonal, marks=[pytest.mark.slow] * rare)


def parameters(rng, diagonal, documents):
    size = WORDS if diagonal == "weights" else 1
    v, W = embedding(rng, documents), embedding(rng)
    return Parameters(W, v, rng.normal(size=size).astype(np.float32), second=W)


def numbers(margin, rate, diagonal_rate, negatives, gamma):
    margin, rate, diagonal_rate, gamma = map(np.float32, (margin, rate, diagonal_rate, gamma))
    return Settings(margin, rate, diagonal_rate, np.int64(negatives), second=gamma)


def data_of(view, diagonal_view, pairs, excluded):
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in excluded])])
    indices = np.array([d for own in excluded for d in sorted(own)], np.int32)
    matrices = csr(view), csr(view), csr(diagonal_view), csr(diagonal_view)
    return Data.of(*matrices, np.array(pairs, np.int32), indptr, indices)


def hinges(W, v, D, x, xd, q, p, n, margin, diagonal):
    """The two hinges of a triple by their definition, before the maximum with 0."""
    same, other = 0.0, 0.0
    if diagonal != "none":
        same, other = ((xd[q] * D) @ xd[d] for d in (p, n))
    query = W.T @ x[q]
    free = margin - (query @ v[p] + same) + (query @ v[n] + other)
    functional = margin - (query @ (W.T @ x[p]) + same) + (query @ (W.T @ x[n]) + other)
    return free, functional


def step(W, v, D, x, xd, q, p, n, rate, diagonal_rate, gamma, hinge, diagonal):
    """Equations of the paper with the old values on the right; W is (words, N)."""
    free, functional = (h > 0 for h in hinge)
    query = W.T @ x[q]
    new_W, new_v, new_D = W.copy(), v.copy(), D.copy()
    change = xd[q] * (xd[p] - xd[n])
    change = change if diagonal == "weights" else np.array([change.sum()])
    change = change if diagonal != "none" else 0 * D
    if free:
        new_W += rate * np.outer(x[q], v[p] - v[n])
        new_v[p] += rate * query
        new_v[n] -= rate * query
        new_D += diagonal_rate * change
    if functional and gamma > 0:
        y = x[p] - x[n]
        new_W += rate * gamma * (np.outer(y, query) + np.outer(x[q], W.T @ y))
        new_D += diagonal_rate * gamma * change
    return new_W, new_v, new_D


@pytest.mark.parametrize("gamma", [0.0, GAMMA])
@pytest.mark.parametrize("diagonal", [rare_if_compiled(one) for one in DIAGONALS])
def test_step_is_the_gradient_by_finite_differences(diagonal, gamma):
    """With both hinges positive, a step of rate 1 is minus the gradient of their weighted sum."""
    rng = np.random.default_rng(0)
    view, diagonal_view = rows(rng, 3), rows(rng, 3)
    after = parameters(rng, diagonal, 3)
    before = [np.array(a, np.float64) for a in (after.U[:, :N], after.V[:, :N], after.diagonal)]
    data = data_of(view, diagonal_view, [[0, 1]], [{0, 1}, set(), set()])
    group = Group("per_document", diagonal, second=True)
    totals = swept(group, after, data, 3, 1, numbers(1e4, 1, 1, 1, gamma), 1)
    assert totals[VIOLATED] == 1
    x, xd = view.toarray(), diagonal_view.toarray()

    def loss(W, v, D):
        free, functional = hinges(W, v, D, x, xd, 0, 1, 2, 1e4, diagonal)
        return free + gamma * functional

    h = 1e-4
    found = after.U[:, :N], after.V[:, :N], after.diagonal
    for i, array in enumerate(before):
        for place in np.ndindex(array.shape):
            sides = []
            for sign in (1, -1):
                moved = [a.copy() for a in before]
                moved[i][place] += sign * h
                sides.append(loss(*moved))
            gradient = (sides[0] - sides[1]) / (2 * h)
            assert found[i][place] - array[place] == pytest.approx(-gradient, abs=2e-4, rel=2e-3)


@pytest.mark.parametrize("negatives", [1, 3])
@pytest.mark.parametrize("gamma", [0.0, GAMMA])
@pytest.mark.parametrize("diagonal", ["none", "alpha"])
def test_sweep_follows_its_naive_twin(diagonal, gamma, negatives):
    rng = np.random.default_rng(5)
    documents, steps, margin, rate = 8, 150, 0.5, 0.05
    view, diagonal_view = rows(rng, documents), rows(rng, documents)
    p = parameters(rng, diagonal, documents)
    W, v, D = (np.array(a, np.float64) for a in (p.U[:, :N], p.V[:, :N], p.diagonal))
    pairs = [[0, 1], [2, 3], [4, 0], [7, 7]]
    excluded = [{0, 1}, set(), {2, 3, 5}, set(), {0, 4}, set(), set(), set(range(documents))]
    data = data_of(view, diagonal_view, pairs, excluded)
    group = Group("per_document", diagonal, second=True)
    settings = numbers(margin, rate, 0.01, negatives, gamma)
    totals = swept(group, p, data, documents, 9, settings, steps)

    x, xd, twin = view.toarray(), diagonal_view.toarray(), np.array([9], np.uint64)
    expected, kinds = np.zeros(4), set()
    for _ in range(steps):
        q, positive = pairs[below(twin, len(pairs))]
        n, first = -1, None
        for _ in range(negatives):
            drawn = (below(twin, documents) for _ in range(1000))
            n = next((d for d in drawn if d not in excluded[q]), -1)
            if n < 0:
                break
            hinge = hinges(W, v, D, x, xd, q, positive, n, margin, diagonal)
            first = hinge[0] if first is None else first
            if hinge[0] > 0:
                break
        if n < 0:
            expected[SKIPPED] += 1
            continue
        expected[HINGE] += max(0.0, first)
        expected[VIOLATED] += hinge[0] > 0
        kinds.add((hinge[0] > 0, hinge[1] > 0))
        W, v, D = step(
            W, v, D, x, xd, q, positive, n, rate, 0.01, gamma, hinge, diagonal
        )  # fmt: skip
    expected[TRIPLES] = steps
    assert len(kinds) == 4  # each hinge was positive with and without the other
    np.testing.assert_allclose(totals, expected, rtol=1e-4)
    for ours, theirs in ((p.U[:, :N], W), (p.V[:, :N], v), (p.diagonal, D)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    assert not p.U[:, N:].any()
    assert not p.V[:, N:].any()
