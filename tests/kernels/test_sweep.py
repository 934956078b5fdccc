"""The training sweep against finite differences and against a naive twin."""

import itertools

import numba
import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels.sparse import Csr, aligned_empty, contains, csr, padded, read_only
from ssi_core.kernels.training.adagrad import first_squares
from ssi_core.kernels.training.forms import DIAGONALS, FORMS, low_rank_query, no_diagonal_clear
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import Data, Parameters, Settings, Squares, Stepped, Turn
from ssi_core.kernels.training.sweep import (
    HINGE,
    SHARES,
    SKIPPED,
    TRIPLES,
    VIOLATED,
    Group,
    draw_hard,
    rank_weight,
    sweep_of,
)
from ssi_core.training.sgd import _work

WORDS, N, BUCKETS = 12, 5, 7
ROOT = 1e5


LOW_RANK = ("low_rank", "low_rank_adagrad", "per_document")
RARE = [
    ("zero", "alpha"), ("dense", "weights"), ("zero_diagonal", "alpha"),
    ("zero_diagonal", "weights"), ("sparse", "weights"), ("hashed", "weights"),
    # test_half_transductive.py
    ("per_document", "none"), ("per_document", "alpha"), ("per_document", "weights"),
]  # fmt: skip
"""Pairs that no model of another test needs: to compile them takes longer than all the rest."""


def case(form, tied, diagonal):
    rare = not numba.config.DISABLE_JIT and (form, diagonal) in RARE
    return pytest.param(form, tied, diagonal, marks=[pytest.mark.slow] * rare)


CASES = [
    case(form, tied, diagonal)
    for form, tied, diagonal in itertools.product(FORMS, (False, True), DIAGONALS)
    if form != "low_rank_private"  # test_private.py
    and (form, diagonal) != ("zero", "none")
    and not (tied and form not in LOW_RANK[:2])
    and not (form == "low_rank_adagrad" and diagonal != "alpha")
]


def each_diagonal(rare):
    """Parametrize by the kind of diagonal; compiled, a sweep that no other test needs is slow."""
    marks = [] if numba.config.DISABLE_JIT else [pytest.mark.slow]
    return pytest.mark.parametrize(
        "diagonal", [pytest.param(one, marks=marks * (one == rare)) for one in DIAGONALS]
    )


def rows(rng, n, density=0.5):
    matrix = sparse.random_array((n, WORDS), density=density, rng=rng, dtype=np.float32).tocsr()
    matrix.indices = matrix.indices.astype(np.int32)
    matrix.sort_indices()
    return matrix


def embedding(rng, words=WORDS):
    made = aligned_empty(words, padded(N))
    made[:] = 0
    made[:, :N] = rng.normal(size=(words, N))
    return made


def parameters(rng, form, tied, diagonal):
    U = embedding(rng, WORDS if form in LOW_RANK else 0)
    V = (
        U
        if tied or form not in LOW_RANK
        else embedding(rng, 3 if form == "per_document" else WORDS)
    )
    size = WORDS if diagonal == "weights" else 1
    made = Parameters(U, V, rng.normal(size=size).astype(np.float32), weights(rng, form))
    if form != "low_rank_adagrad":
        return made
    # So much that a step adds nothing: AdaGrad at a rate of ROOT is the plain step at 1.
    squares = squares_of(U, V)
    for array in (squares.U, squares.V):
        array[:] = ROOT**2
    return made._replace(squares=squares)


def squares_of(U, V):
    first = first_squares(len(U))
    return Squares(first, first if V is U else first_squares(len(V)), np.float32(N))


def weights(rng, form):
    """W of the forms that have a weight for each pair of words."""
    W = rng.normal(size=(WORDS, WORDS)).astype(np.float32)
    if form == "dense":
        return W
    if form == "zero_diagonal":
        np.fill_diagonal(W, 0)
        return W
    if form == "sparse":
        pattern = sparse.csr_array(W * (rng.random(W.shape) < 0.4))
        return Csr(pattern.indptr.astype(np.int64), pattern.indices, pattern.data)
    return rng.normal(size=BUCKETS).astype(np.float32) if form == "hashed" else None


def learnt(parameters):
    """Name -> array of everything that a step may change."""
    named = {"U": parameters.U, "V": parameters.V, "D": parameters.diagonal}
    W = parameters.W
    return named if W is None else named | {"W": W.data if isinstance(W, Csr) else W}


def pair_weight(form, W, pattern, s, t):
    """W_st as the papers define it; pattern is the Csr of a sparse W."""
    if form == "hashed":
        return W[(s * 2147483647 + t) % BUCKETS]
    if form == "sparse":
        row = slice(pattern.indptr[s], pattern.indptr[s + 1])
        place = np.flatnonzero(pattern.indices[row] == t)
        return W[row][place[0]] if len(place) else 0.0
    return 0.0 if form == "zero_diagonal" and s == t else W[s, t]


def work():
    """Return the scratch of a training, so that a sweep is compiled once for both."""
    return _work(padded(N), WORDS)


def swept(group, p, data, documents, seed, settings, steps, scratch=None):
    """Sweep so many steps of one group; the totals."""
    totals, state = np.zeros(4), np.array([seed], np.uint64)
    stepped = Stepped.none_of(data, documents)
    turn = Turn(p, data, scratch or work(), documents, state, settings, totals, stepped)
    sweep_of(group)([turn])(steps)
    return totals


def score(values, pattern, kind, form, q, d, qd, dd):
    """Formula of the family, in float64; q, d in W's view, qd, dd in the diagonal's."""
    total = 0.0
    if form in LOW_RANK:
        total += (values["U"].T @ q) @ (values["V"].T @ d)
    elif form != "zero":
        for s, t in itertools.product(np.flatnonzero(q), np.flatnonzero(d)):
            total += q[s] * d[t] * pair_weight(form, values["W"], pattern, s, t)
    diagonal = values["D"]
    if kind != "none":
        total += np.sum(diagonal * qd * dd)
    return total


def one_triple(form, tied, diagonal, rate, margin=1e6, seed=0):
    """Sweep one step on the only possible triple (0, 1, 2).

    Returns parameters before and after, rows of queries and of documents, of the diagonal; totals.
    """
    rng = np.random.default_rng(seed)
    view, diagonal_view = rows(rng, 3), rows(rng, 3)
    p = parameters(rng, form, tied, diagonal)
    before = {name: np.array(a, np.float64) for name, a in learnt(p).items()}
    data = Data.of(
        csr(view), csr(view), csr(diagonal_view), csr(diagonal_view),
        np.array([[0, 1]], np.int32), np.array([0, 2, 2, 2]), np.array([0, 1], np.int32),
    )  # fmt: skip
    scratch = work()
    rate_of_W = rate * ROOT if form == "low_rank_adagrad" else rate
    settings = Settings(np.float32(margin), np.float32(rate_of_W), np.float32(rate), np.int64(1))
    totals = swept(Group(form, diagonal), p, data, 3, seed, settings, 1, scratch)
    assert not scratch.spread.any()
    assert not scratch.words.any()
    x = view.toarray()
    return before, p, x, np.eye(3) if form == "per_document" else x, diagonal_view.toarray(), totals


@pytest.mark.parametrize(("form", "tied", "diagonal"), CASES)
def test_step_is_the_gradient_by_finite_differences(form, tied, diagonal):
    """A step of rate 1 moves every parameter by -d/dp (-f(q, d+) + f(q, d-))."""
    before, after, x, y, xd, _ = one_triple(form, tied, diagonal, rate=1.0)

    def loss(values):
        f = [score(values, after.W, diagonal, form, x[0], y[d], xd[0], xd[d]) for d in (1, 2)]
        return -f[0] + f[1]

    h = 1e-6
    for name, array in before.items():
        if tied and name == "V":
            continue
        moved = np.asarray(learnt(after)[name], np.float64) - array
        for place in np.ndindex(array.shape):
            shifted = []
            for sign in (1, -1):
                changed = before | {name: array.copy()}
                changed[name][place] += sign * h
                if tied:
                    changed["V"] = changed["U"]
                shifted.append(loss(changed))
            gradient = (shifted[0] - shifted[1]) / (2 * h)
            if name == "D" and diagonal == "none":
                gradient = 0.0
            assert moved[place] == pytest.approx(-gradient, abs=2e-5)


@pytest.mark.parametrize(("form", "tied", "diagonal"), CASES)
def test_margin_uses_the_whole_score(form, tied, diagonal):
    """The hinge is 1 - f(q, d+) + f(q, d-), the diagonal in it."""
    for seed in range(5):
        found = one_triple(form, tied, diagonal, 0.1, margin=1.0, seed=seed)
        before, after, x, y, xd, totals = found
        f = [score(before, after.W, diagonal, form, x[0], y[d], xd[0], xd[d]) for d in (1, 2)]
        hinge = 1 - f[0] + f[1]
        assert totals[HINGE] == pytest.approx(max(0.0, hinge), abs=1e-4)
        assert totals[VIOLATED] == (hinge > 0)
        assert totals[TRIPLES] == 1
        if hinge <= 0:
            for name, array in learnt(after).items():
                np.testing.assert_array_equal(before[name], np.asarray(array, np.float64))


def naive_splitmix(state):
    state = (state + 0x9E3779B97F4A7C15) % 2**64
    z = state
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return state, z ^ (z >> 31)


def test_below_is_uniform():
    state = np.array([3], np.uint64)
    drawn = np.array([below(state, 7) for _ in range(7000)])
    counts = np.bincount(drawn, minlength=7)
    assert counts.sum() == 7000
    assert ((counts - 1000) ** 2 / 1000).sum() < 22.5  # chi square, 6 degrees, p = 0.001


def naive_draw(state, documents, excluded, hard, share):
    """The next state and a document: of a list, or any that is not excluded."""
    if hard:
        state, z = naive_splitmix(state)
        if ((z >> 32) * SHARES) >> 32 < share:
            state, z = naive_splitmix(state)
            return state, hard[((z >> 32) * len(hard)) >> 32]
    while True:
        state, z = naive_splitmix(state)
        n = ((z >> 32) * documents) >> 32
        if n not in excluded:
            return state, n


def naive_sweep(
    state, pairs, excluded, x, U, V, alpha, margin, rate, negatives, warp, steps, squares=None,
    lists=None, share=0,
):  # fmt: skip
    """The same algorithm with dense float64 vectors and Python sets; squares are AdaGrad's."""
    violated = 0
    for _ in range(steps):
        state, z = naive_splitmix(state)
        q, p = pairs[((z >> 32) * len(pairs)) >> 32]
        for n_tried in range(1, negatives + 1):
            state, n = naive_draw(state, len(x), excluded[q], lists and lists[q], share)
            uq, vp, vn = U.T @ x[q], V.T @ x[p], V.T @ x[n]
            if margin - (uq @ vp + alpha * x[q] @ x[p]) + uq @ vn + alpha * x[q] @ x[n] > 0:
                dU, dV = np.outer(x[q], vp - vn), np.outer(x[p] - x[n], uq)
                k = (len(x) - 1) // n_tried
                step = rate * sum(1 / j for j in range(1, k + 1)) if warp else rate
                for side, (E, dE) in enumerate(((U, dU), (V, dV))):
                    if squares is None:
                        E += step * dE
                    else:
                        A = squares[side]
                        A += (dE**2).mean(axis=1)
                        E += step * dE / np.sqrt(A)[:, None]
                violated += 1
                break
    return violated


def a_task(rng, documents=20):
    """Rows, links and what is excluded: a naive copy of each, and as the sweep reads them."""
    view = rows(rng, documents, density=0.4)
    linked = {i: rng.choice(documents, 3) for i in range(documents)}
    pairs = np.array([[i, j] for i in linked for j in linked[i] if i != j], np.int32)
    excluded = [sorted({i} | {int(b) for a, b in pairs if a == i}) for i in range(documents)]
    indptr = np.cumsum([0] + [len(b) for b in excluded])
    data = Data.of(
        csr(view), csr(view), csr(view), csr(view),
        pairs, indptr, np.concatenate(excluded).astype(np.int32),
    )  # fmt: skip
    naive = pairs.tolist(), [set(b) for b in excluded], view.toarray().astype(np.float64)
    return naive, data


@pytest.mark.parametrize(("negatives", "warp"), [(1, False), (3, False), (3, True)])
def test_sweep_agrees_with_the_naive_twin(negatives, warp):
    rng = np.random.default_rng(5)
    naive, data = a_task(rng)
    p = Parameters(embedding(rng), embedding(rng), np.array([2.0], np.float32))
    U, V = (np.array(a[:, :N], np.float64) for a in (p.U, p.V))
    settings = Settings(np.float32(1), np.float32(0.02), np.float32(0), np.int64(negatives), warp)
    totals = swept(Group("low_rank", "alpha"), p, data, 20, 99, settings, 300)
    violated = naive_sweep(99, *naive, U, V, 2.0, 1.0, 0.02, negatives, warp, 300)
    assert totals[VIOLATED] == violated > 30
    np.testing.assert_allclose(p.U[:, :N], U, atol=1e-4)
    np.testing.assert_allclose(p.V[:, :N], V, atol=1e-4)
    assert not p.U[:, N:].any()


def test_hard_negatives_agree_with_the_naive_twin():
    """A share of the draws is from the list of the query; of one without a list none."""
    rng = np.random.default_rng(5)
    naive, data = a_task(rng)
    _, excluded, x = naive
    lists = [
        [n for n in np.argsort(-x @ x[q])[:9].tolist() if n not in excluded[q]] for q in range(20)
    ]
    lists[3] = []
    start = np.cumsum([0] + [len(one) for one in lists])
    share = SHARES // 3
    data = data._replace(
        shown_indptr=read_only(start),
        shown=read_only(np.array(list(itertools.chain(*lists)), np.int32)),
        share=read_only(np.array([share])),
    )
    p = Parameters(embedding(rng), embedding(rng), np.array([2.0], np.float32))
    U, V = (np.array(a[:, :N], np.float64) for a in (p.U, p.V))
    settings = Settings(np.float32(1), np.float32(0.02), np.float32(0), np.int64(3))
    totals = swept(Group("low_rank", "alpha", draw_hard), p, data, 20, 99, settings, 300)
    violated = naive_sweep(
        99, *naive, U, V, 2.0, 1.0, 0.02, 3, False, 300, lists=lists, share=share
    )
    assert totals[VIOLATED] == violated > 30
    np.testing.assert_allclose(p.U[:, :N], U, atol=1e-4)
    np.testing.assert_allclose(p.V[:, :N], V, atol=1e-4)


@pytest.mark.parametrize("tied", [False, True])
def test_adagrad_agrees_with_the_naive_twin(tied):
    """Words that d+ and d- share have one gradient; U'U has two steps, one after the other."""
    rng = np.random.default_rng(5)
    naive, data = a_task(rng)
    p = parameters(rng, "low_rank", tied, "alpha")
    p = p._replace(squares=squares_of(p.U, p.V))
    U = np.array(p.U[:, :N], np.float64)
    V = U if tied else np.array(p.V[:, :N], np.float64)
    squares_U = np.full(WORDS, 1e-8)
    squares = squares_U, squares_U if tied else squares_U.copy()
    alpha = float(p.diagonal[0])
    scratch = work()
    settings = Settings(np.float32(1), np.float32(0.05), np.float32(0), np.int64(2))
    totals = swept(Group("low_rank_adagrad", "alpha"), p, data, 20, 7, settings, 200, scratch)
    violated = naive_sweep(7, *naive, U, V, alpha, 1.0, 0.05, 2, False, 200, squares)
    assert totals[VIOLATED] == violated > 30
    np.testing.assert_allclose(p.U[:, :N], U, atol=1e-4)
    np.testing.assert_allclose(p.V[:, :N], V, atol=1e-4)
    np.testing.assert_allclose(p.squares.U, squares[0], rtol=1e-4)
    np.testing.assert_allclose(p.squares.V, squares[1], rtol=1e-4)
    assert not p.U[:, N:].any()
    assert not scratch.words.any()


def test_rank_weight_is_the_harmonic_number():
    for documents, tried in ((1, 1), (3, 1), (17, 1), (18, 1), (18, 5), (1000, 3), (100, 99)):
        k = (documents - 1) // tried
        expected = sum(1 / j for j in range(1, k + 1))
        assert rank_weight(documents, tried) == pytest.approx(expected, rel=1e-6)


def test_query_linked_to_everything_is_skipped_and_counted():
    rng = np.random.default_rng(1)
    view = rows(rng, 3)
    p = parameters(rng, "low_rank", False, "alpha")
    before = p.U.copy()
    data = Data.of(
        csr(view), csr(view), csr(view), csr(view),
        np.array([[0, 1]], np.int32), np.array([0, 3, 3, 3]), np.array([0, 1, 2], np.int32),
    )  # fmt: skip
    settings = Settings(np.float32(1), np.float32(1), np.float32(0), np.int64(2))
    totals = swept(Group("low_rank", "alpha"), p, data, 3, 1, settings, 4)
    assert totals[SKIPPED] == totals[TRIPLES] == 4
    assert np.array_equal(before, p.U)


def test_contains_is_membership():
    indptr, indices = np.array([0, 0, 3, 4]), np.array([2, 5, 9, 0], np.int32)
    for row, members in enumerate(([], [2, 5, 9], [0])):
        for column in range(11):
            assert contains(indptr, indices, row, column) == (column in members)


def test_rows_start_on_cache_lines():
    made = aligned_empty(7, padded(100))
    assert made.ctypes.data % 64 == 0
    assert made.strides == (448, 4)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="all is Python")
def test_a_part_of_a_kernel_has_no_entry():
    for _ in range(2):
        with pytest.raises(TypeError, match="low_rank_query is a part of kernels"):
            low_rank_query(1, 2, 3, 4)
        one_triple("low_rank", False, "none", rate=1.0)
        with pytest.raises(TypeError, match="no_diagonal_clear is a part"):
            no_diagonal_clear((1.0,), (2.0,), 3)
