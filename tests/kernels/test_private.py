"""Rows that a thread has for itself: against numpy, and against the same step on shared rows."""

import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels import jit
from ssi_core.kernels.sparse import aligned_empty, csr, floats, halved
from ssi_core.kernels.training.private import Private, _gather, _scatter, give, own_rows, take
from ssi_core.kernels.training.structs import Data, Parameters, Settings, Stepped, Turn
from ssi_core.kernels.training.sweep import Group, sweep_of
from ssi_core.kernels.vectors import converts_float16
from tests.kernels.test_sweep import work

WORDS, OWN, WIDTH, DOCUMENTS = 41, 13, 16, 21


@jit
def gathered(embedding, own, matrix, row, out):
    _gather(embedding, own, matrix, row, out)


@jit
def scattered(embedding, own, matrix, row, scale, direction):
    _scatter(embedding, own, matrix, row, scale, direction)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def rows(rng, n=4):
    return sparse.random_array((n, WORDS), density=0.4, rng=rng, format="csr", dtype=np.float32)


def embedding(rng, width=WIDTH):
    made = aligned_empty(WORDS, width)
    made[:] = rng.normal(size=(WORDS, width))
    return made


@pytest.mark.parametrize("width", [16, 112, 240])
def test_the_first_rows_are_read_and_written_in_place_of_the_embedding(rng, width):
    matrix, E = rows(rng), embedding(rng, width)
    own = own_rows(E, OWN)
    own.rows[:] = rng.normal(size=own.rows.shape)
    before, seen = E.copy(), np.concatenate([own.rows, E[OWN:]])
    for row in range(4):
        x, out = matrix[[row]].toarray()[0], np.full(width, 7, np.float32)
        gathered(E, own, csr(matrix), row, out)
        np.testing.assert_allclose(out, x @ seen, atol=1e-5)
        direction = rng.normal(size=width).astype(np.float32)
        scattered(E, own, csr(matrix), row, np.float32(0.5), direction)
        seen += np.outer(0.5 * x, direction)
        np.testing.assert_allclose(np.concatenate([own.rows, E[OWN:]]), seen, atol=1e-5)
    np.testing.assert_array_equal(E[:OWN], before[:OWN])


needs_float16 = pytest.mark.skipif(not converts_float16(), reason="no float16 on this processor")


@pytest.mark.parametrize("half", [False, pytest.param(True, marks=needs_float16)])
def test_what_threads_change_adds_up(rng, half):
    E = halved(embedding(rng)) if half else embedding(rng)
    start, scratch = floats(E).astype(np.float32), np.empty(WIDTH, np.float32)
    several = [own_rows(E, OWN) for _ in range(3)]
    changes = rng.integers(-8, 8, (3, OWN, WIDTH)) / 64
    for own, change in zip(several, changes, strict=True):
        assert own.rows.dtype == E.dtype
        take(E, own)
        floats(own.rows)[:] += change.astype(floats(E).dtype)
    for own in several:
        give(E, own, scratch)
    expected = start[:OWN] + changes.sum(axis=0)
    np.testing.assert_allclose(floats(E)[:OWN], expected, atol=1e-2 if half else 1e-6)
    np.testing.assert_array_equal(floats(E)[OWN:], start[OWN:])
    take(E, several[0])
    np.testing.assert_array_equal(several[0].rows, E[:OWN])


def swept(form, p, data):
    numbers = np.float32(1), np.float32(0.02), np.float32(0.02), np.int64(2)
    state, totals = np.array([7], np.uint64), np.zeros(4)
    stepped = Stepped.none_of(data, DOCUMENTS)
    turn = Turn(p, data, work(), DOCUMENTS, state, Settings(*numbers), totals, stepped)
    sweep_of(Group(form, "none"))([turn])(200)
    return totals


@pytest.mark.parametrize("tied", [False, True])
def test_a_sweep_takes_the_steps_of_one_on_shared_rows(rng, tied):
    view = csr(rows(rng, DOCUMENTS))
    pairs = np.array([[i, (i + 1) % DOCUMENTS] for i in range(DOCUMENTS)], np.int32)
    indptr = np.arange(DOCUMENTS + 1)
    data = Data.of(view, view, view, view, pairs, indptr, pairs[:, 1].copy())

    def parameters():
        rng = np.random.default_rng(5)
        U = embedding(rng)
        return Parameters(U, U if tied else embedding(rng), np.ones(1, np.float32))

    shared, p = parameters(), parameters()
    before = p.U[:OWN].copy()
    of_u = own_rows(p.U, OWN)
    own = Private(of_u, of_u if tied else own_rows(p.V, OWN), np.empty(WIDTH, np.float32))
    both = [(p.U, own.U)] if tied else [(p.U, own.U), (p.V, own.V)]
    for one, its in both:
        take(one, its)
    totals = swept("low_rank_private", p._replace(private=own), data)
    np.testing.assert_array_equal(p.U[:OWN], before)
    for one, its in both:
        give(one, its, own.change)
    np.testing.assert_allclose(totals, swept("low_rank", shared, data), rtol=1e-4)
    assert totals[2] > 30
    for name in ("U", "V"):
        np.testing.assert_allclose(getattr(p, name), getattr(shared, name), atol=1e-4)
