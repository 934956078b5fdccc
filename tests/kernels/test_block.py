"""The sweep in blocks, against finite differences and against a naive twin."""

import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels.sparse import csr, read_only
from ssi_core.kernels.training.pooled import (
    empty_pool,
    frequent_words,
    pool_bytes,
    size_of_pool,
)
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import (
    HINGE,
    SKIPPED,
    TRIPLES,
    VIOLATED,
    Data,
    Parameters,
    Settings,
    Stepped,
    Turn,
)
from ssi_core.kernels.training.sweep import Group, draw_negative, draw_weighted, sweep_of
from ssi_core.training.sgd import in_runs
from tests.kernels.test_sweep import WORDS, N, each_diagonal, embedding, rows, work

DOCUMENTS = 31


EACH_DIAGONAL = each_diagonal("none")


class Case:
    """A task as arrays, and parameters of the block's sweep and of its twin."""

    def __init__(self, diagonal, *, tied=False, pairs=None, barred=None, seed=5):
        rng = np.random.default_rng(seed)
        self.diagonal = diagonal
        view, diagonal_view = rows(rng, DOCUMENTS), rows(rng, DOCUMENTS)
        if pairs is None:
            pairs = [[q, int(p)] for q in range(8) for p in rng.permutation(DOCUMENTS)[:q]]
        self.barred = barred or [
            {q, *(p for one, p in pairs if one == q)} for q in range(DOCUMENTS)
        ]
        indptr = np.concatenate([[0], np.cumsum([len(own) for own in self.barred])])
        indices = np.array([d for own in self.barred for d in sorted(own)], np.int32)
        matrices = csr(view), csr(view), csr(diagonal_view), csr(diagonal_view)
        places = np.repeat(np.arange(DOCUMENTS, dtype=np.int32), np.arange(DOCUMENTS) % 4 + 1)
        data = Data.of(*matrices, np.array(pairs, np.int32), indptr, indices)
        self.data = in_runs(data._replace(candidates=read_only(places)))
        self.x, self.xd = view.toarray(), diagonal_view.toarray()
        U = embedding(rng)
        size = WORDS if diagonal == "weights" else 1
        D = rng.normal(size=size).astype(np.float32)
        self.parameters = Parameters(U, U if tied else embedding(rng), D)
        self.before = [np.array(a, np.float64) for a in self.learnt()]
        self.marks = Stepped.none_of(self.data, DOCUMENTS)

    def learnt(self):
        p = self.parameters
        return p.U[:, :N], p.V[:, :N], p.diagonal

    def sweep(self, steps, settings, seed=9, draw=draw_negative, counts=(0, 0, 0)):
        """Sweep with a pool that another sweep left with these counts."""
        kept = np.full(len(self.data.pairs), np.nan, np.float32)
        width = self.parameters.V.shape[1]
        pool = empty_pool(int(settings.negatives), width, WORDS, WORDS, WORDS // 3, kept)
        pool.counts[:] = counts
        scratch = work()._replace(pool=pool)
        totals, state = np.zeros(4), np.array([seed], np.uint64)
        turn = Turn(
            self.parameters, self.data, scratch, DOCUMENTS, state, settings, totals, self.marks
        )
        sweep_of(Group("low_rank", self.diagonal, draw, block=True))([turn])(steps)
        tables = pool.words, pool.frequent
        for left in (scratch.spread, scratch.words, *tables, pool.moves, pool.moved):
            assert not left.any()
        return totals, state


def numbers(margin, rate, diagonal_rate, negatives, *, warp=False):
    margin, rate, diagonal_rate = map(np.float32, (margin, rate, diagonal_rate))
    return Settings(margin, rate, diagonal_rate, np.int64(negatives), warp)


def harmonic(k):
    return sum(1 / j for j in range(1, k + 1))


def twin_of(case, steps, settings, seed=9, places=None):
    """Sweep as `kernels.training.block` says, in slow loops and float64; the totals."""
    U, V, D = (a.copy() for a in case.before)
    x, xd, data = case.x.astype(float), case.xd.astype(float), case.data
    weights, alpha = case.diagonal == "weights", case.diagonal == "alpha"
    size, totals, left = 128 if settings.negatives > 64 else 64, np.zeros(4), steps
    state, stepped, asked, tables = np.array([seed], np.uint64), [], 0, []

    def added(q, d):
        return np.sum(D * xd[q] * xd[d]) if weights or alpha else 0.0

    while left:
        pool = [below(state, DOCUMENTS if places is None else len(places)) for _ in range(size)]
        pool = pool if places is None else [int(places[i]) for i in pool]
        hats, moves = [V.T @ x[d] for d in pool], np.zeros((size, N))
        pairs, table, asked = 0, asked > 5 * size, 0
        tables.append(table)
        while left and pairs < size:
            run = below(state, len(data.runs) - 1)
            own = data.pairs[data.runs[run] : data.runs[run + 1]].tolist()
            start, q = below(state, len(own)), own[0][0]
            assert {one for one, _ in own} == {q}
            uq, kept, known = U.T @ x[q], {}, set()
            if table:
                kept = {j: added(q, d) for j, d in enumerate(pool)}
            for k in range(min(len(own), left)):
                p, left, pairs = own[(start + k) % len(own)][1], left - 1, pairs + 1
                vp = V.T @ x[p]
                positive = uq @ vp + added(q, p)
                j, stride = below(state, size), 2 * below(state, size // 2) + 1
                order = [(j + i * stride) % size for i in range(size)]
                assert len(set(order)) == size
                allowed = [j for j in order if pool[j] not in case.barred[q]]
                totals[TRIPLES] += 1
                totals[SKIPPED] += not allowed
                for tried, j in enumerate(allowed[: settings.negatives], 1):
                    asked += j not in known
                    known.add(j)
                    kept.setdefault(j, added(q, pool[j]))
                    other = kept[j] if weights else added(q, pool[j])
                    hinge = settings.margin - positive + uq @ hats[j] + other
                    totals[HINGE] += max(0, hinge) if tried == 1 else 0
                    if hinge > 0:
                        break
                else:
                    continue
                totals[VIOLATED] += 1
                stepped.append((q, p, pool[j]))
                weight = harmonic((DOCUMENTS - 1) // tried) if settings.warp else 1
                rate, n = weight * settings.rate, pool[j]
                old, difference = uq.copy(), vp - hats[j]
                U += rate * np.outer(x[q], difference)
                uq = uq + rate * (x[q] @ x[q]) * difference
                V += rate * np.outer(x[p], old)
                moves[j] -= rate * old
                hats[j] = hats[j] - rate * (x[n] @ x[n]) * old
                change = weight * settings.diagonal_rate * xd[q] * (xd[p] - xd[n])
                if weights:
                    D += change
                    kept[j] = added(q, n)
                elif alpha:
                    D += change.sum()
        for d, move in zip(pool, moves, strict=True):
            V += np.outer(x[d], move)
    return (U, V, D), totals, stepped, state, tables


@EACH_DIAGONAL
@pytest.mark.parametrize(
    ("negatives", "warp", "margin"),
    [(1, False, 0.5), (8, True, -2.0), (100, True, -4.0)],
)
def test_sweep_follows_its_naive_twin(diagonal, negatives, warp, margin):
    """Over many blocks, of which the first asks for few products, and most have a table."""
    case, settings = Case(diagonal), numbers(margin, 0.004, 0.02, negatives, warp=warp)
    totals, state = case.sweep(403, settings)
    wanted, expected, stepped, twin_state, tables = twin_of(case, 403, settings)
    assert any(tables) == (negatives > 1)
    assert 50 < expected[VIOLATED] < 403
    np.testing.assert_allclose(totals, expected, rtol=2e-4)
    assert state == twin_state
    for found, one in zip(case.learnt(), wanted, strict=True):
        np.testing.assert_allclose(found, one, atol=2e-4)
    assert not case.parameters.U[:, N:].any()
    assert set(np.flatnonzero(case.marks.queries)) == {q for q, _, _ in stepped}
    assert set(np.flatnonzero(case.marks.documents)) == {d for _, *two in stepped for d in two}


def test_a_pool_that_is_drawn_by_weight_follows_its_twin_too():
    case, settings = Case("alpha"), numbers(0.5, 0.004, 0.002, 4)
    totals, state = case.sweep(300, settings, draw=draw_weighted)
    wanted, expected, _, twin_state, _ = twin_of(case, 300, settings, places=case.data.candidates)
    np.testing.assert_allclose(totals, expected, rtol=2e-4)
    assert state == twin_state
    for found, one in zip(case.learnt(), wanted, strict=True):
        np.testing.assert_allclose(found, one, atol=2e-4)


@EACH_DIAGONAL
def test_step_is_the_gradient_by_finite_differences(diagonal):
    """One pair that violates: a step of rate 1 moves all by -d/dp (-f(q, d+) + f(q, d-))."""
    case = Case(diagonal, pairs=[[0, 1]], barred=[set(range(DOCUMENTS)) - {2}] * DOCUMENTS)
    totals, _ = case.sweep(1, numbers(1e6, 1, 1, 1))
    assert totals[VIOLATED] == 1

    def loss(values):
        U, V, D = values
        x, xd = case.x, case.xd

        def f(d):
            added = np.sum(D * xd[0] * xd[d]) if diagonal != "none" else 0.0
            return (U.T @ x[0]) @ (V.T @ x[d]) + added

        return f(2) - f(1)

    h = 1e-5
    for i, array in enumerate(case.before):
        for place in np.ndindex(array.shape):
            sides = []
            for sign in (1, -1):
                moved = [a.copy() for a in case.before]
                moved[i][place] += sign * h
                sides.append(loss(moved))
            gradient = (sides[0] - sides[1]) / (2 * h)
            moved = case.learnt()[i][place] - array[place]
            assert moved == pytest.approx(-gradient, abs=1e-3, rel=1e-3)


def test_a_sweep_does_not_depend_on_those_before():
    """So that a training that goes on from a checkpoint has the bits of one without a break."""
    found = []
    for counts in ((0, 0, 0), (70, 10**6, 1)):
        case = Case("weights")
        totals, _ = case.sweep(200, numbers(-2, 0.004, 0.5, 20), counts=counts)
        found.append((totals, *case.learnt()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_barred_is_never_stepped_against():
    """A document that is d- for nobody keeps its own word's row of V."""
    barred = [set(range(0, DOCUMENTS, 2))] * DOCUMENTS
    pairs = [[0, 2], [0, 4], [1, 2]]
    case = Case("alpha", pairs=pairs, barred=barred)
    totals, _ = case.sweep(500, numbers(1e6, 0.001, 0, 1))
    assert totals[VIOLATED] == 500
    stepped = set(np.flatnonzero(case.marks.documents)) - {2, 4}
    assert stepped == set(range(1, DOCUMENTS, 2))


def test_query_linked_to_everything_is_skipped_and_counted():
    case = Case("alpha", pairs=[[0, 1]], barred=[set(range(DOCUMENTS))] * DOCUMENTS)
    totals, _ = case.sweep(70, numbers(1, 1, 1, 2))
    assert totals[SKIPPED] == totals[TRIPLES] == 70
    for found, one in zip(case.learnt(), case.before, strict=True):
        np.testing.assert_array_equal(found, one.astype(np.float32))


def test_tied_maps_stay_one_and_learn():
    case = Case("alpha", tied=True)
    first, _ = case.sweep(64, numbers(1.0, 0.01, 0, 1))
    last = [case.sweep(2000, numbers(1.0, 0.01, 0, 1), seed=s)[0] for s in (1, 2)][-1]
    assert last[HINGE] / 2000 < first[HINGE] / 64
    assert case.parameters.U is case.parameters.V


def test_a_pool_has_room_for_all_trials():
    assert [size_of_pool(n) for n in (1, 64, 65, 128, 200)] == [64, 64, 128, 128, 256]
    pool = empty_pool(100, 16, 40, 7, 40, np.zeros(0, np.float32))
    arrays = pool.hats, pool.moves, pool.words, pool.slots, pool.values, pool.frequent
    assert pool_bytes(100, 16, 40, 7) == pytest.approx(sum(a.nbytes for a in arrays), abs=64)


def test_words_of_an_eighth_of_the_documents_have_a_place_for_each():
    matrix = np.zeros((16, 3000), np.float32)
    matrix[:, 0] = matrix[:2, 9] = matrix[:4, 2500] = 1
    assert frequent_words(csr(sparse.csr_array(matrix))) == 8  # 16 entries in 8 words
    matrix[:, :2100] = 1
    assert frequent_words(csr(sparse.csr_array(matrix))) == 2048


def test_runs_are_of_one_query_and_have_every_pair_once():
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 20, (150, 2)), axis=0)
    case = Case("none", pairs=rng.permutation(pairs).tolist())
    runs = np.split(case.data.pairs, case.data.runs[1:-1])
    assert sorted(map(tuple, case.data.pairs.tolist())) == sorted(map(tuple, pairs.tolist()))
    assert all(1 <= len(run) <= 8 and len(set(run[:, 0])) == 1 for run in runs)
    sizes = {}
    for run in runs:
        sizes.setdefault(run[0, 0], []).append(len(run))
    assert all(size == 8 for own in sizes.values() for size in own[:-1])
