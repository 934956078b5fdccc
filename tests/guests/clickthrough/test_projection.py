"""Projections of query-title pairs against dense solutions and the formulas of the paper."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import linalg, sparse

from ssi_core.guests.clickthrough.opca import Opca, regularised
from ssi_core.guests.clickthrough.paired import Moments, Paired, Rows
from ssi_core.guests.clickthrough.pca import Pca
from ssi_core.guests.clickthrough.s2net import CosineLoss, S2Net, drawn_negatives
from ssi_core.models import MODELS
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.latent.svd import leading_eigenvectors
from ssi_core.serving.explain import explain_pair
from ssi_core.serving.neighbours import neighbours
from ssi_core.types import BadInput, Pairs
from tests.scores import all_scores

pytestmark = pytest.mark.trains
SMALL = {"dimensions": 8}


def fit(model, task, seed=0, **how):
    return model.fit(task, np.random.default_rng(seed), **how)


def stacked(task):
    """Rows of the queries and of the documents of the training pairs, one for each pair."""
    rows = task.train.rows
    sides = ((task.queries, rows[:, 0]), (task.documents, rows[:, 1]))
    return [texts.matrix("raw")[row].toarray().astype(float) for texts, row in sides]


def overlap(one, other):
    """Share of a subspace that lies in another of the same dimension; 1 where they are equal."""
    one, other = (np.linalg.qr(vectors)[0] for vectors in (one, other))
    return np.linalg.norm(one.T @ other) ** 2 / one.shape[1]


def covariance(rows):
    return np.cov(rows, rowvar=False, bias=True)


def wide(pairs=1500, words=900, subjects=30, seed=0):
    """A task of pairs on subjects, too wide for the dense solution; a query has three pairs."""
    rng = np.random.default_rng(seed)
    each = words // subjects
    subject = rng.integers(0, subjects, pairs // 3 + 1) ** 2 // subjects
    texts = []
    for share in (3, 1):
        about = np.repeat(subject, 3 // share)[:pairs] * each
        columns = about[:, None] + rng.integers(0, each, (len(about), 6))
        columns[:, 4:] = rng.integers(0, words, (len(about), 2))
        places = np.repeat(np.arange(len(about)), 6), columns.ravel()
        shape = len(about), words
        rows = sparse.csr_array((np.ones(columns.size, np.float32), places), shape=shape)
        rows.sum_duplicates()
        view = {"raw": SimpleNamespace(space="words")}
        texts.append(
            SimpleNamespace(
                views=view, matrix=lambda name, rows=rows: rows, width=lambda name: words
            )
        )
    pairs = Pairs.of(np.column_stack([np.arange(pairs) // 3, np.arange(pairs)]))
    return SimpleNamespace(queries=texts[0], documents=texts[1], train=pairs, path=None)


# --- the components ------------------------------------------------------------------------------


@pytest.mark.parametrize("texts", ["separate", "joined"])
def test_the_components_are_those_of_the_covariance_of_the_pairs(task, texts):
    q, d = stacked(task)
    values, vectors = np.linalg.eigh(
        covariance(np.vstack([q, d]) if texts == "separate" else q + d)
    )
    fitted = fit(Pca(texts=texts, dimensions=8), task)
    V = fitted.arrays["V"]
    assert fitted.facts["dimensions"] == 8
    assert values[-8] > 1.01 * values[-9]
    assert overlap(V, vectors[:, -8:]) > 1 - 1e-6
    np.testing.assert_allclose(V.T @ V, np.eye(8), atol=1e-5)
    # Neither centred nor divided by singular values.
    projected = task.documents.matrix("raw") @ V
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    np.testing.assert_allclose(all_scores(fitted, task), projected @ projected.T, atol=1e-5)


@pytest.mark.parametrize("relation", ["separate", "joined", "apart"])
@pytest.mark.parametrize("centred", [True, False])
def test_moments_are_those_of_the_rows_that_are_never_made(relation, centred):
    task = wide(90, 40, 4)
    q, d = stacked(task)
    rows = {"separate": np.vstack([q, d]), "joined": q + d, "apart": q - d}[relation]
    paired = Paired(task, "raw", np.float64, threads=2)
    rows = rows[:, paired.words]
    expected = covariance(rows) if centred else rows.T @ rows / len(rows)
    moments = Moments(paired, relation, centred=centred, threads=2)
    np.testing.assert_allclose(moments(np.eye(len(paired.words))), expected, atol=1e-12)
    np.testing.assert_allclose(moments.diagonal(), (rows**2).mean(axis=0), atol=1e-12)


def test_words_of_no_training_pair_are_projected_to_nothing(task):
    rows = task.train.rows[:20]
    few = dataclasses.replace(task, train=Pairs.of(rows))
    V = fit(Pca(dimensions=4), few).arrays["V"]
    q, d = stacked(few)
    assert not V[np.vstack([q, d]).sum(axis=0) == 0].any()
    assert len(V) == task.queries.width("raw")


def dense_opca(q, d, gamma, k):
    """(23) and (24) with scipy's solver."""
    noise = (q - d).T @ (q - d) / len(q)
    noise += gamma * np.trace(noise) / len(noise) * np.eye(len(noise))
    vectors = linalg.eigh(covariance(np.vstack([q, d])), noise)[1]
    return vectors[:, -k:], noise


@pytest.mark.parametrize("gamma", [0.01, 1.0])
def test_oriented_components_are_those_of_the_dense_problem(task, gamma):
    expected, noise = dense_opca(*stacked(task), gamma, 8)
    V = fit(Opca(dimensions=8, gammas=(gamma,)), task).arrays["V"].astype(float)
    assert overlap(V, expected) > 1 - 1e-5
    np.testing.assert_allclose(V.T @ noise @ V, np.eye(8), atol=1e-4)


@pytest.mark.parametrize("basis_bytes", [1, 1 << 30], ids=["restarts", "at once"])
def test_the_iteration_finds_what_the_dense_problem_has(basis_bytes):
    task, k, gamma = wide(), 21, 0.1
    paired = Paired(task, "raw", np.float64)
    size = len(paired.words)
    assert size > 600
    total = Moments(paired, "separate", centred=True)
    noise = Moments(paired, "apart", centred=False)
    ridge = gamma * noise.diagonal().sum() / size
    metric = regularised(noise, noise.diagonal(), ridge)
    how = {"tolerance": 1e-4, "basis_bytes": basis_bytes}
    factors = leading_eigenvectors(total, size, k, np.random.default_rng(0), metric=metric, **how)
    q, d = (side[:, paired.words] for side in stacked(task))
    expected, dense = dense_opca(q, d, gamma, k)
    assert 0 < factors.residual <= 1e-4
    assert overlap(factors.vectors, expected) > 1 - 1e-6
    np.testing.assert_allclose(factors.vectors.T @ dense @ factors.vectors, np.eye(k), atol=1e-4)
    plain = leading_eigenvectors(total, size, k, np.random.default_rng(0), **how)
    variance = np.sum(plain.vectors * total(plain.vectors.astype(float)))
    most = np.linalg.eigvalsh(total(np.eye(size)))[-k:].sum()
    assert variance == pytest.approx(most, rel=1e-5)


def test_conjugate_gradients_solve_each_column():
    paired = Paired(wide(200, 60, 6), "raw", np.float64)
    noise = Moments(paired, "apart", centred=False)
    metric = regularised(noise, noise.diagonal(), 1e-3)
    columns = np.random.default_rng(0).standard_normal((len(paired.words), 3))
    columns[:, 1] = 0
    np.testing.assert_allclose(metric.product(metric.solve(columns)), columns, atol=1e-4)


def test_validation_chooses_gamma(task):
    fitted = fit(Opca(dimensions=8, gammas=(10.0, 0.01, 0.5)), task)
    losses = fitted.facts["validation_rank_loss"]
    assert list(losses) == ["0.01", "0.5", "10.0"]
    assert losses[str(fitted.facts["gamma"])] == min(losses.values())


def test_pairs_without_a_difference_have_no_noise(task):
    same = np.repeat(np.arange(20)[:, None], 2, axis=1)
    with pytest.raises(BadInput, match="no noise"):
        fit(Opca(dimensions=4), dataclasses.replace(task, train=Pairs.of(same)))


@pytest.mark.parametrize("model", [Pca(), Opca(), S2Net()])
def test_nothing_is_learnt_without_pairs(task, model):
    with pytest.raises(BadInput, match="no training pair"):
        fit(model, dataclasses.replace(task, train=Pairs.of([])))


# --- the Siamese network -------------------------------------------------------------------------


def naive_loss(V, q, d, examples, gamma):
    """(20) and (21), triple by triple."""

    def cosine(x, y):
        return (x @ V) @ (y @ V) / (np.linalg.norm(x @ V) * np.linalg.norm(y @ V))

    terms = [
        np.log1p(np.exp(-gamma * (cosine(q[i], d[first]) - cosine(q[i], d[other]))))
        for i, first, *others in examples
        for other in others
    ]
    return np.mean(terms)


def naive_gradient(V, q, d, examples, gamma):
    """(31) with the sign put right, and (32) to (36), triple by triple."""

    def slope(x, y):
        left, right = V.T @ x, V.T @ y
        a, b, c = left @ right, 1 / np.linalg.norm(left), 1 / np.linalg.norm(right)
        product = np.outer(x, right) + np.outer(y, left)
        one, other = np.outer(x, left), np.outer(y, right)
        return a * b * c, b * c * product - a * c * b**3 * one - a * b * c**3 * other

    gradient, count = np.zeros_like(V), 0
    for i, first, *others in examples:
        for other in others:
            (near, by_near), (far, by_far) = slope(q[i], d[first]), slope(q[i], d[other])
            factor = -gamma / (1 + np.exp(gamma * (near - far)))
            gradient += factor * (by_near - by_far)
            count += 1
    return gradient / count


@pytest.fixture(scope="module")
def triples():
    task = wide(30, 25, 5)
    rng = np.random.default_rng(1)
    paired = Paired(task, "raw", np.float64)
    negatives = rng.integers(0, 30, (30, 3)).astype(np.int32)
    q, d = (rows.matrix.toarray() for rows in (paired.queries, paired.documents))
    examples = np.column_stack([paired.left, paired.right, negatives])
    return paired, negatives, q, d, examples, rng.standard_normal((len(paired.words), 3))


@pytest.mark.parametrize("gamma", [1.0, 10.0])
def test_loss_and_gradient_are_those_of_the_paper(triples, gamma):
    paired, negatives, q, d, examples, V = triples
    value, gradient = CosineLoss(paired, negatives, gamma)(V)
    assert value == pytest.approx(naive_loss(V, q, d, examples, gamma), rel=1e-10)
    np.testing.assert_allclose(gradient, naive_gradient(V, q, d, examples, gamma), atol=1e-10)


@pytest.mark.parametrize("gamma", [1.0, 10.0])
def test_the_gradient_is_that_of_autograd(triples, gamma):
    """Of the loss as it is written in numpy, with nothing derived by hand."""
    autograd = pytest.importorskip("autograd", reason="autograd is not here")
    from autograd import numpy as anp

    paired, negatives, q, d, examples, V = triples

    def loss(V):
        left, right = q @ V, d @ V
        left = left / anp.sqrt((left**2).sum(axis=1, keepdims=True))
        right = right / anp.sqrt((right**2).sum(axis=1, keepdims=True))
        i, first, others = examples[:, 0], examples[:, 1], examples[:, 2:]
        near = (left[i] * right[first]).sum(axis=1)[:, None]
        far = (left[i][:, None, :] * right[others]).sum(axis=2)
        return anp.mean(anp.log1p(anp.exp(-gamma * (near - far))))

    value, gradient = CosineLoss(paired, negatives, gamma)(V)
    assert value == pytest.approx(float(loss(V)), rel=1e-10)
    np.testing.assert_allclose(gradient, autograd.grad(loss)(V), atol=1e-10)


def test_the_gradient_is_that_of_finite_differences(triples):
    paired, negatives, *_, V = triples
    loss = CosineLoss(paired, negatives, 10.0)
    gradient = loss(V)[1]
    V = V.copy()
    for position in list(np.ndindex(V.shape))[::3]:
        ends = []
        for step in (1e-6, -1e-6):
            V[position] += step
            ends.append(loss(V)[0])
            V[position] -= step
        assert gradient[position] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_a_text_that_is_projected_to_nothing_has_no_gradient(triples):
    paired, negatives, *_, V = triples
    V = V.copy()
    V[paired.queries.matrix[[0]].indices] = 0
    value, gradient = CosineLoss(paired, negatives, 10.0)(V)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_threads_do_not_change_a_bit(triples):
    paired, negatives, *_, V = triples
    one, two = (CosineLoss(paired, negatives, 10.0, threads)(V) for threads in (1, 2))
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])
    matrix = sparse.random_array((50, 40), density=0.2, rng=np.random.default_rng(0)).tocsr()
    columns = np.random.default_rng(0).standard_normal((40, 5))
    np.testing.assert_array_equal(Rows(matrix, 3) @ columns, matrix @ columns)


def test_negatives_are_all_that_are_allowed_and_no_other(task):
    rows = task.train.rows[:60]
    few = dataclasses.replace(task, train=Pairs.of(rows))
    paired = Paired(few, "raw", np.float32)
    drawn = drawn_negatives(few, paired, 2000, np.random.default_rng(0))
    known = {tuple(row) for row in rows.tolist()}
    for query, others in zip(rows[:, 0].tolist(), drawn, strict=True):
        documents = paired.document_rows.tolist()
        allowed = {d for d in documents if (query, d) not in known and not few.exclude[query, d]}
        assert {documents[i] for i in others} == allowed


def test_a_query_that_can_be_told_from_nothing_is_refused(task):
    with pytest.raises(BadInput, match="no document that it could be told from"):
        fit(S2Net(**SMALL), dataclasses.replace(task, train=Pairs.of([[3, 4], [3, 5]])))


def test_the_estimate_of_a_training_that_takes_more_than_its_start(task):
    assert S2Net(dimensions=8, memory=200).cost(task).memory == 7_195_224


def test_it_starts_from_the_components_and_the_loss_falls(task):
    curve = []
    model = S2Net(**SMALL, budget=12, patience=100)
    fitted = fit(model, task, watch=lambda step, metrics: curve.append((step, metrics)))
    losses = [metrics["train/logistic"] for _, metrics in curve[1:]]
    assert len(losses) == 12
    assert np.diff(losses).max() < 0
    assert losses[-1] < 0.7 * losses[0]
    triples = 4 * len(task.train)
    assert [step for step, _ in curve] == [n * triples for n in range(13)]
    assert fitted.facts["iterations"] <= 12
    start = fit(Pca(dimensions=8), task)
    ranks = [metrics["val/rank_loss"] for _, metrics in curve]
    assert fitted.facts["validation_rank_loss"] == min(ranks) < ranks[0]
    untrained = fit(dataclasses.replace(model, gamma=1e-6, budget=1), task)
    np.testing.assert_allclose(all_scores(untrained, task), all_scores(start, task), atol=1e-5)


def test_a_training_that_was_broken_off_ends_with_the_same_bits(task, tmp_path):
    model = S2Net(**SMALL, budget=8, patience=100, memory=3)
    plain = fit(model, task)
    steps = []

    def stop(step, metrics):
        steps.append(step)
        if len(steps) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, task, watch=stop, checkpoint=tmp_path / "c")
    resumed = fit(model, task, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(resumed.arrays["V"], plain.arrays["V"])
    both = fit(model, task, threads=2)
    np.testing.assert_array_equal(both.arrays["V"], plain.arrays["V"])


# --- with the terms ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "part",
    [
        {"model": "pca"},
        {"model": "pca", "texts": "joined"},
        {"model": "opca", "gammas": (0.1,)},
        {"model": "s2net", "budget": 3},
    ],
    ids=["LSA", "CL-LSA", "OPCA", "S2Net"],
)
def test_each_is_mixed_with_the_terms(task, part):
    """The paper's weighted sum: beta 0 is the projection alone, a large beta the terms."""
    part = part | SMALL
    parts = (part, {"model": "tfidf"})
    mixture = fit(Mixture(parts, betas=(0.0, 1.0, 1e6)), task)
    settings = {name: value for name, value in part.items() if name != "model"}
    alone = all_scores(fit(MODELS[part["model"]](**settings), task), task)
    terms = all_scores(fit(MODELS["tfidf"](), task), task)
    variants = list(mixture.model.variants(mixture))
    assert [variant.facts["beta"] for variant in variants] == [0.0, 1.0, 1e6]
    for variant in variants:
        beta = variant.facts["beta"]
        expected = alone + beta * terms
        np.testing.assert_allclose(all_scores(variant, task), expected, rtol=1e-5, atol=1e-5)
        assert variant.arrays["part_1_V"] is mixture.arrays["part_1_V"]
    explanation = explain_pair(variants[1], task.queries.take([0]), task.documents.take([8]), k=30)
    assert explanation.score == pytest.approx(alone[0, 8] + terms[0, 8], rel=1e-5)
    word = mixture.query_views["raw"].words[40]
    assert neighbours(variants[1], word, 5)


def test_a_model_without_a_second_choice_is_its_only_variant(task):
    fitted = fit(Pca(dimensions=4), task)
    assert list(fitted.model.variants(fitted)) == [fitted]
