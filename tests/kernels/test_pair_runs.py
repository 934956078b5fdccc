"""The sweep of W by runs of a query's pairs, against finite differences and a naive twin."""

import numba
import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels import jit
from ssi_core.kernels.sparse import Csr, aligned_empty, csr, padded
from ssi_core.kernels.training.pair_runs import RUNS
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
from ssi_core.kernels.training.sweep import Group, draw_negative, sweep_of
from ssi_core.training.sgd import _work, in_runs
from tests.kernels.test_sweep import rows

DOCUMENTS, WORDS = 15, 12
RARE = [] if numba.config.DISABLE_JIT else [pytest.mark.slow]
CASES = [
    ("dense", "none"),
    ("sparse", "none"),
    pytest.param("dense", "weights", marks=RARE),
    pytest.param("zero_diagonal", "none", marks=RARE),
    pytest.param("zero_diagonal", "alpha", marks=RARE),
    pytest.param("sparse", "alpha", marks=RARE),
]


class Case:
    """A task as arrays, W and a diagonal, and what a sweep makes of them."""

    def __init__(self, form, diagonal, *, pairs=None, barred=None):
        rng = np.random.default_rng(3)
        self.form, self.diagonal = form, diagonal
        view, diagonal_view = rows(rng, DOCUMENTS), rows(rng, DOCUMENTS)
        if pairs is None:
            pairs = [[q, int(p)] for q in range(6) for p in rng.permutation(DOCUMENTS)[: 2 * q]]
        self.barred = barred or [
            {q, *(p for one, p in pairs if one == q)} for q in range(DOCUMENTS)
        ]
        indptr = np.concatenate([[0], np.cumsum([len(own) for own in self.barred])])
        indices = np.array([d for own in self.barred for d in sorted(own)], np.int32)
        sides = csr(view), csr(view), csr(diagonal_view), csr(diagonal_view)
        self.data = in_runs(Data.of(*sides, np.array(pairs, np.int32), indptr, indices))
        self.x, self.xd = (m.toarray().astype(float) for m in (view, diagonal_view))
        W = rng.normal(size=(WORDS, WORDS)).astype(np.float32)
        self.learnt = rng.random(W.shape) < (0.4 if form == "sparse" else 1)
        if form == "zero_diagonal":
            np.fill_diagonal(self.learnt, False)
        W *= self.learnt
        self.before = W.astype(float)
        if form == "sparse":
            pattern = sparse.csr_array(W)
            W = Csr(pattern.indptr.astype(np.int64), pattern.indices, pattern.data)
        D = rng.normal(size=WORDS if diagonal == "weights" else 1).astype(np.float32)
        self.D = D.astype(float)
        nothing = aligned_empty(0, padded(WORDS))
        self.parameters = Parameters(nothing, nothing, D, W)
        self.marks = Stepped.none_of(self.data, DOCUMENTS)

    def after(self):
        W = self.parameters.W
        if isinstance(W, Csr):
            return sparse.csr_array((W.data, W.indices, W.indptr), (WORDS, WORDS)).toarray()
        return W

    def sweep(self, steps, settings):
        totals, state = np.zeros(4), np.array([9], np.uint64)
        scratch = _work(padded(WORDS), WORDS)
        turn = Turn(
            self.parameters, self.data, scratch, DOCUMENTS, state, settings, totals, self.marks
        )
        sweep_of(Group(self.form, self.diagonal, draw_negative, block=True))([turn])(steps)
        for left in (scratch.spread, scratch.direction):
            assert not left.any()
        return totals

    def score(self, W, D, q, d):
        weights = {"none": 0.0, "alpha": D, "weights": D}[self.diagonal]
        return self.x[q] @ W @ self.x[d] + np.sum(weights * self.xd[q] * self.xd[d])

    def twin(self, steps, settings):
        """Take each step by itself, in float64, with W as the one before has left it."""
        W, D, totals, left = self.before.copy(), self.D.copy(), np.zeros(4), steps
        state, violating = np.array([9], np.uint64), []
        while left:
            run = below(state, len(self.data.runs) - 1)
            own = self.data.pairs[self.data.runs[run] : self.data.runs[run + 1]].tolist()
            start, q = below(state, len(own)), own[0][0]
            for k in range(min(left, len(own))):
                left, p, n = left - 1, own[(start + k) % len(own)][1], -1
                totals[TRIPLES] += 1
                if len(self.barred[q]) == DOCUMENTS:
                    for _ in range(1000):
                        below(state, DOCUMENTS)
                    totals[SKIPPED] += 1
                    continue
                for tried in range(1, settings.negatives + 1):
                    n = next(d for d in iter(lambda: below(state, DOCUMENTS), None)
                             if d not in self.barred[q])  # fmt: skip
                    behind = settings.margin - self.score(W, D, q, p) + self.score(W, D, q, n)
                    totals[HINGE] += max(0, behind) if tried == 1 else 0
                    if behind > 0:
                        break
                else:
                    continue
                totals[VIOLATED] += 1
                violating.append((q, p, n))
                weight = 1.0
                if settings.warp:
                    weight = sum(1 / j for j in range(1, (DOCUMENTS - 1) // tried + 1))
                rate = weight * settings.rate
                W += rate * np.outer(self.x[q], self.x[p] - self.x[n]) * self.learnt
                change = weight * settings.diagonal_rate * self.xd[q] * (self.xd[p] - self.xd[n])
                if self.diagonal != "none":
                    D = D + (change if self.diagonal == "weights" else change.sum())
        return W, D, totals, violating


def numbers(margin, rate, negatives, *, warp=False):
    margin, rate = np.float32(margin), np.float32(rate)
    return Settings(margin, rate, np.float32(0.3) * rate, np.int64(negatives), warp)


@pytest.mark.parametrize(("form", "diagonal"), CASES)
@pytest.mark.parametrize(("negatives", "warp"), [(1, False), (4, True)])
def test_runs_take_the_steps_of_the_naive_twin(form, diagonal, negatives, warp):
    case, settings = Case(form, diagonal), numbers(0.5, 0.05, negatives, warp=warp)
    W, D, totals, violating = case.twin(40, settings)
    assert 10 < totals[VIOLATED] < 40
    found = case.sweep(40, settings)
    np.testing.assert_allclose(found, totals, rtol=1e-5)
    np.testing.assert_allclose(case.after(), W, atol=1e-5)
    np.testing.assert_allclose(case.parameters.diagonal, D, atol=1e-5)
    assert np.abs(W - case.before).max() > 0.05
    marked = {"queries": {q for q, _, _ in violating},
              "documents": {d for _, p, n in violating for d in (p, n)}}  # fmt: skip
    for name, expected in marked.items():
        assert {*np.flatnonzero(getattr(case.marks, name)).tolist()} == expected


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_step_is_the_gradient_of_the_hinge(form):
    """One triple, by central differences of ``-f(q, d+) + f(q, d-)`` in each learnt weight."""
    others = [
        {*range(DOCUMENTS)} - {4} if q == 2 else {*range(DOCUMENTS)} for q in range(DOCUMENTS)
    ]
    case = Case(form, "none", pairs=[[2, 7]], barred=others)
    case.sweep(1, numbers(100, 0.1, 1))
    expected = np.zeros_like(case.before)
    for s, t in np.argwhere(case.learnt):
        sides = []
        for sign in (1, -1):
            W = case.before.copy()
            W[s, t] += sign * 1e-4
            sides.append(case.score(W, 0, 2, 4) - case.score(W, 0, 2, 7))
        expected[s, t] = (sides[0] - sides[1]) / 2e-4
    np.testing.assert_allclose(case.after() - case.before, -0.1 * expected, atol=1e-6)
    assert np.abs(expected).max() > 0.1


def test_a_query_without_an_allowed_document_is_skipped():
    case = Case("dense", "none", barred=[{*range(DOCUMENTS)}] * DOCUMENTS)
    totals = case.sweep(5, numbers(100, 0.1, 2))
    assert (totals[SKIPPED], totals[TRIPLES], totals[VIOLATED]) == (5, 5, 0)
    np.testing.assert_array_equal(case.after(), case.before.astype(np.float32))


MEET, WRITE = RUNS["dense"]


@jit
def met_and_written(W, queries, v, m, g):
    MEET(W, queries, 0, v, m)
    WRITE(W, queries, 0, g)


@pytest.mark.parametrize("width", [1, 16, 2049])
@pytest.mark.parametrize("words", [0, 1, 3, 4, 9])
def test_rows_are_met_and_written_by_blocks_of_columns(width, words):
    rng = np.random.default_rng(width)
    W = rng.normal(size=(9, width)).astype(np.float32)
    q = np.zeros((1, 9), np.float32)
    q[0, rng.permutation(9)[:words]] = rng.normal(size=words)
    v, m, g = (np.full(padded(width), 7, np.float32) for _ in range(3))
    g[:width] = rng.normal(size=width)
    before = W.copy()
    met_and_written(W, csr(sparse.csr_array(q)), v, m, g)
    np.testing.assert_allclose(v[:width], q[0] @ before, atol=1e-5)
    np.testing.assert_allclose(m, np.sum(q**2), rtol=1e-6)
    np.testing.assert_allclose(W, before + np.outer(q[0], g[:width]), atol=1e-5)
