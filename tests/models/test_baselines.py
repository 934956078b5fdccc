"""TF-IDF, BM25, query expansion and LSI against plain computations."""

import itertools

import numpy as np
import pytest

from ssi_core.arrays import check_arrays
from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.ranking import Validator
from ssi_core.evaluation.significance import is_clearly_higher
from ssi_core.models import load_model
from ssi_core.models.bm25 import TRIED, Bm25
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.language_model import LanguageModel
from ssi_core.models.latent.lsi import Lsi, LsiMixture
from ssi_core.models.query_expansion import QueryExpansion, top_documents
from ssi_core.models.tfidf import TfIdf
from ssi_core.types import BadInput
from tests.scores import all_scores


def cosines(task, view):
    x = task.queries.matrix(view).toarray().astype(np.float64)
    return x @ x.T


def test_tfidf_is_the_cosine(task):
    fit = TfIdf("sublinear").fit(task, np.random.default_rng(0))
    scores = all_scores(fit, task)
    np.testing.assert_allclose(scores, cosines(task, "sublinear"), atol=1e-6)
    np.testing.assert_allclose(np.diag(scores), 1, atol=1e-5)


def test_bm25_is_the_formula(task):
    model = Bm25(k1=1.5, b=0.6, k3=7.0)
    counts = task.documents.matrix("counts").toarray()
    n, words = counts.shape
    expected = np.zeros((5, n))
    lengths = counts.sum(axis=1)
    for q in range(5):
        for d in range(n):
            for w in range(words):
                tf, qtf = counts[d, w], counts[q, w]
                if tf and qtf:
                    df = np.count_nonzero(counts[:, w])
                    idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
                    floor = 1.5 * (1 - 0.6 + 0.6 * lengths[d] / lengths.mean())
                    expected[q, d] += idf * 2.5 * tf / (floor + tf) * 8 * qtf / (7 + qtf)
    scores = all_scores(model.fit(task, np.random.default_rng(0)), task)
    np.testing.assert_allclose(scores[:5], expected, rtol=1e-4)


def test_a_tuned_bm25_is_the_best_of_its_settings_on_validation_one_after_the_other(task, tmp_path):
    poor = {"k1": 0.0, "b": 0.0}
    fit = Bm25(**poor, tuned=True).fit(task, np.random.default_rng(0))
    chosen = fit.facts["chosen"]
    plain = Bm25(**chosen).fit(task, np.random.default_rng(0))
    scores = all_scores(plain, task)
    np.testing.assert_array_equal(all_scores(fit, task), scores)
    fit.save(tmp_path / "model")
    np.testing.assert_array_equal(all_scores(load_model(tmp_path / "model"), task), scores)
    parts = ({"model": "bm25", **poor, "tuned": True}, {"model": "tfidf"})
    sums = Mixture(parts, betas=(0.0,)).fit(task, np.random.default_rng(0))
    np.testing.assert_array_equal(all_scores(sums, task), scores)
    assert fit.facts["tried"] > len(TRIED["k1"]) + len(TRIED["b"]) + len(TRIED["k3"]) - 3
    validator = Validator(task, "valid", 1000)

    def values(settings):
        model = Bm25(**settings).fit(task, np.random.default_rng(0))
        return MEASURES["map"](validator.ranks(model))

    best = values(chosen)
    assert fit.facts["val/map"] == pytest.approx(best.mean())
    assert is_clearly_higher(best, values(poor))
    for name, several in TRIED.items():
        for value in several:
            rival = values({**chosen, name: value})
            assert not is_clearly_higher(rival, best)


def test_the_language_model_ranks_by_the_likelihood_of_the_query(task):
    """ln P(q | d), but for what is the same for every document of a query."""
    counts = task.documents.matrix("counts").toarray().astype(np.float64)
    share = counts.sum(axis=0) / counts.sum()
    likelihood = np.zeros((5, len(counts)))
    constant = np.zeros(5)
    for q in range(5):
        for w in np.flatnonzero(counts[q]):
            background = 0.3 * share[w]
            constant[q] += counts[q, w] * np.log(background)
            for d in range(len(counts)):
                p = 0.7 * counts[d, w] / counts[d].sum() + background
                likelihood[q, d] += counts[q, w] * np.log(p)
    fit = LanguageModel(background=(0.3,)).fit(task, np.random.default_rng(0))
    np.testing.assert_allclose(
        all_scores(fit, task)[:5], likelihood - constant[:, None], rtol=1e-6, atol=1e-4
    )


def test_the_language_model_takes_the_weight_that_validation_prefers(task):
    weights = (0.05, 0.5, 0.95)
    fit = LanguageModel(background=weights).fit(task, np.random.default_rng(0))
    each = list(fit.model.variants(fit))
    losses = [Validator(task, "valid").rank_loss(one) for one in each]
    assert fit.facts == {"background": weights[int(np.argmin(losses))]}
    assert [one.facts["background"] for one in each] == list(weights)
    assert Validator(task, "valid").rank_loss(fit) == min(losses) < max(losses)


def test_a_language_model_of_one_part_is_refused():
    with pytest.raises(ValueError, match=r"expected (more|less) than [01]"):
        LanguageModel(background=(1.0,))


def test_query_expansion_is_the_formula(task):
    model = QueryExpansion(expansions=(3,), betas=(0.7,))
    fit = model.fit(task, np.random.default_rng(0))
    fit.arrays["expansion"][:], fit.arrays["beta"][:] = 3, 0.7
    x = task.queries.matrix("raw").toarray().astype(np.float64)
    plain = cosines(task, "raw")
    np.fill_diagonal(plain, -np.inf)
    expected = np.empty_like(plain)
    for q, row in enumerate(plain):
        top = np.argsort(-row, kind="stable")[:3]
        expected[q] = (x[q] + 0.7 * x[top].mean(axis=0)) @ x.T
    np.testing.assert_allclose(all_scores(fit, task), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "wrong"), [("beta", -0.1), ("beta", 1.1), ("expansion", -1), ("expansion", 6)]
)
def test_a_query_expansion_is_one_of_its_choices_or_none(name, wrong, tmp_path):
    model = QueryExpansion("raw", expansions=(2, 5), betas=(0.3, 1.0))
    spec = {name: model.array_specs({"document raw": 9})[name]}
    kind = np.float32 if name == "beta" else np.int64
    for right in (0, 1):
        check_arrays(spec, {name: np.array([right], kind)}, tmp_path, "Make it again.")
    with pytest.raises(BadInput, match=rf"{name}\.npy: .* Make it again"):
        check_arrays(spec, {name: np.array([wrong], kind)}, tmp_path, "Make it again.")


def test_query_expansion_chooses_by_training_loss(task):
    model = QueryExpansion(expansions=(2, 5), betas=(0.1, 1.0))
    fit = model.fit(task, np.random.default_rng(0))
    validator = Validator(task, side="train", queries=model.tuning_queries)
    chosen = validator.rank_loss(fit)
    assert fit.facts["training_rank_loss"] == pytest.approx(chosen, abs=1e-4)
    assert chosen <= validator.rank_loss(TfIdf("raw").fit(task, np.random.default_rng(0))) + 1e-6


def test_a_document_is_not_among_its_own_top(task):
    x = task.queries.matrix("raw")
    top = top_documents(x, x, np.arange(x.shape[0]), 4)
    assert (np.diff(top.indptr) == 4).all()
    assert not top.diagonal().any()
    plain = cosines(task, "raw")
    np.fill_diagonal(plain, 0)
    best = np.sort(plain, axis=1)[:, -4:].sum(axis=1)
    np.testing.assert_allclose(top.sum(axis=1), best, rtol=1e-4)


@pytest.mark.trains
def test_lsi_is_the_cosine_in_the_span_of_the_leading_singular_vectors(task):
    fit = Lsi(dimensions=6).fit(task, np.random.default_rng(0))
    x = task.documents.matrix("raw").toarray().astype(np.float64)
    _, _, vt = np.linalg.svd(x, full_matrices=False)
    latent = x @ vt[:6].T
    latent /= np.linalg.norm(latent, axis=1, keepdims=True)
    np.testing.assert_allclose(all_scores(fit, task), latent @ latent.T, atol=1e-5)


@pytest.mark.trains
def test_lsi_takes_no_more_dimensions_than_the_corpus_has(task):
    fit = Lsi(dimensions=(8, 100_000)).fit(task, np.random.default_rng(0))
    assert fit.arrays["V"].shape[1] < min(task.documents.matrix("raw").shape)


@pytest.mark.trains
def test_lsi_mixture_is_the_weighted_sum_and_the_best_of_its_grid(task):
    model = LsiMixture(dimensions=(4, 8), alphas=(0.0, 0.3, 1.0))
    fit = model.fit(task, np.random.default_rng(0))
    n, alpha = fit.facts["dimensions"], fit.facts["alpha"]
    lsi = Lsi(dimensions=n).fit(task, np.random.default_rng(0))
    validator = Validator(task, side="train", queries=model.tuning_queries)
    loss = fit.facts["training_rank_loss"]
    assert loss == pytest.approx(validator.rank_loss(fit), abs=1e-4)
    expected = alpha * all_scores(lsi, task) + (1 - alpha) * cosines(task, "raw")
    np.testing.assert_allclose(all_scores(fit, task), expected, atol=1e-5)
    grid = [
        LsiMixture(dimensions=n, alphas=(alpha,)).fit(task, np.random.default_rng(0))
        for n, alpha in itertools.product((4, 8), model.alphas)
    ]
    assert loss == pytest.approx(min(one.facts["training_rank_loss"] for one in grid), abs=1e-4)
