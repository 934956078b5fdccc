"""The sweep of several d- a pair, against finite differences and against a naive twin."""

import numpy as np
import pytest

from ssi_core.kernels.sparse import csr
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import Data, Parameters, Settings
from ssi_core.kernels.training.sweep import Group
from ssi_core.kernels.training.totals import HINGE, SKIPPED, TRIPLES, VIOLATED
from tests.kernels.test_sweep import WORDS, N, each_diagonal, embedding, rows, swept, work

EACH_DIAGONAL = each_diagonal("weights")


def numbers(margin, rate, diagonal_rate, k):
    margin, rate, diagonal_rate = map(np.float32, (margin, rate, diagonal_rate))
    return Settings(margin, rate, diagonal_rate, np.int64(k))


def parameters(rng, diagonal, tied):
    U = embedding(rng)
    size = WORDS if diagonal == "weights" else 1
    return Parameters(U, U if tied else embedding(rng), rng.normal(size=size).astype(np.float32))


def a_task(rng, documents):
    """Rows of both views as arrays, pairs, what is excluded, and all of it as a sweep reads it."""
    view, diagonal_view = rows(rng, documents), rows(rng, documents)
    pairs = [[0, 1], [2, 3], [4, 0], [5, 1]]
    excluded = [{0, 1}, set(), {2, 3, 5}, set(), {0, 4}, set(range(documents))]
    excluded += [set()] * (documents - len(excluded))
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in excluded])])
    indices = np.array([d for own in excluded for d in sorted(own)], np.int32)
    matrices = csr(view), csr(view), csr(diagonal_view), csr(diagonal_view)
    data = Data.of(*matrices, np.array(pairs, np.int32), indptr, indices)
    return view.toarray(), diagonal_view.toarray(), pairs, excluded, data


def run(group, p, data, documents, settings, steps, seed=9):
    scratch = work()._replace(violating=np.zeros(int(settings.negatives), np.int64))
    totals = swept(group, p, data, documents, seed, settings, steps, scratch)
    assert not scratch.spread.any()
    return totals


def hinges(values, x, xd, q, p, negatives, margin, diagonal):
    """Hinge of each triple, by definition, before the maximum with 0."""
    U, V, D = values

    def f(d):
        added = np.sum(D * xd[q] * xd[d]) if diagonal != "none" else 0.0
        return (U.T @ x[q]) @ (V.T @ x[d]) + added

    return np.array([margin - f(p) + f(n) for n in negatives])


@EACH_DIAGONAL
@pytest.mark.parametrize("tied", [False, True])
def test_step_is_the_gradient_of_the_sum_of_hinges(diagonal, tied):
    """With four triples of a pair, some of which violate, by finite differences at a rate of 1."""
    rng = np.random.default_rng(1)
    x, xd, _, excluded, data = a_task(rng, 9)
    data = data._replace(pairs=data.pairs[:1])
    after = parameters(rng, diagonal, tied)
    before = [np.array(a, np.float64) for a in (after.U[:, :N], after.V[:, :N], after.diagonal)]
    state, drawn = np.array([9], np.uint64), []
    below(state, 1)
    while len(drawn) < 4:
        n = below(state, 9)
        drawn += [] if n in excluded[0] else [n]
    # Between the two largest of those that differ.
    margin = -np.unique(hinges(before, x, xd, 0, 1, drawn, 0.0, diagonal).round(6))[-2:].mean()
    totals = run(
        Group("low_rank", diagonal, several=True), after, data, 9, numbers(margin, 1, 1, 4), 4
    )
    given = hinges(before, x, xd, 0, 1, drawn, margin, diagonal)
    assert totals[VIOLATED] == (given > 0).sum()
    assert 0 < totals[VIOLATED] < 4
    assert totals[HINGE] == pytest.approx(np.maximum(given, 0).sum(), rel=1e-4)

    def loss(values):
        return np.maximum(hinges(values, x, xd, 0, 1, drawn, margin, diagonal), 0).sum()

    h = 1e-5
    for i, array in enumerate(before):
        if tied and i == 1:
            continue
        found = (after.U[:, :N], after.V[:, :N], after.diagonal)[i]
        for place in np.ndindex(array.shape):
            sides = []
            for sign in (1, -1):
                moved = [a.copy() for a in before]
                moved[i][place] += sign * h
                if tied:
                    moved[1] = moved[0]
                sides.append(loss(moved))
            gradient = (sides[0] - sides[1]) / (2 * h) if (i, diagonal) != (2, "none") else 0.0
            assert found[place] - array[place] == pytest.approx(-gradient, abs=1e-3, rel=1e-3)


@EACH_DIAGONAL
@pytest.mark.parametrize("k", [1, 2, 5])
def test_sweep_follows_its_naive_twin(diagonal, k):
    rng = np.random.default_rng(5)
    documents, steps, margin, rate, diagonal_rate = 9, 203, 0.5, 0.02, 0.01
    x, xd, pairs, excluded, data = a_task(rng, documents)
    p = parameters(rng, diagonal, tied=False)
    U, V, D = (np.array(a, np.float64) for a in (p.U[:, :N], p.V[:, :N], p.diagonal))
    settings = numbers(margin, rate, diagonal_rate, k)
    totals = run(Group("low_rank", diagonal, several=True), p, data, documents, settings, steps)

    twin, expected, left = np.array([9], np.uint64), np.zeros(4), steps
    while left:
        count, left = min(k, left), left - min(k, left)
        q, positive = pairs[below(twin, len(pairs))]
        drawn = []
        for _ in range(count):
            for _ in range(1000):
                n = below(twin, documents)
                if n not in excluded[q]:
                    drawn.append(n)
                    break
            else:
                expected[SKIPPED] += 1
        given = hinges((U, V, D), x, xd, q, positive, drawn, margin, diagonal)
        expected[TRIPLES] += count
        expected[HINGE] += np.maximum(given, 0).sum()
        expected[VIOLATED] += (given > 0).sum()
        dU, dV, dD = np.zeros_like(U), np.zeros_like(V), np.zeros_like(D)
        for n, hinge in zip(drawn, given, strict=True):
            if hinge > 0:
                dU += np.outer(x[q], V.T @ (x[positive] - x[n]))
                dV += np.outer(x[positive] - x[n], U.T @ x[q])
                change = xd[q] * (xd[positive] - xd[n])
                if diagonal != "none":
                    dD += change if diagonal == "weights" else change.sum()
        U, V, D = U + rate * dU, V + rate * dV, D + diagonal_rate * dD
    assert 0 < expected[VIOLATED] < steps
    assert expected[SKIPPED] > 0
    np.testing.assert_allclose(totals, expected, rtol=1e-4)
    for found, wanted in zip((p.U[:, :N], p.V[:, :N], p.diagonal), (U, V, D), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert not p.U[:, N:].any()


def test_one_at_a_time_has_the_bits_of_the_plain_sweep():
    found = []
    for several in (False, True):
        rng = np.random.default_rng(2)
        *_, data = a_task(rng, 9)
        p = parameters(rng, "alpha", tied=False)
        group = Group("low_rank", "alpha", several=several)
        totals = run(group, p, data, 9, numbers(0.5, 0.02, 0.01, 1), 200)
        found.append((p.U, p.V, p.diagonal, totals))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
