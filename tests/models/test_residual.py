"""A latent part that learns beside an order of words which stays as it is."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

import ssi_core as ssi
from ssi_core.evaluation.ranking import Validator
from ssi_core.models.base import FitOptions, UnfitStart
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.choice.beside_words import is_known_item, learn_documented
from ssi_core.models.combined import residual
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.combined.parts import fitted_parts
from ssi_core.models.combined.residual import EXACT, Residual, with_exact
from ssi_core.models.tfidf import TfIdf
from ssi_core.selection.validation_halves import ValidationHalves
from ssi_core.types import BadInput, Pairs
from tests.fielded import write_fielded

pytestmark = pytest.mark.trains

LATENT = {
    "model": "bilinear", "view": "sublinear", "dimensions": 8, "rates": (0.1,), "epoch": 2_000,
    "budget": 6_000, "margin": 0.3, "negatives": 4,
}  # fmt: skip
MODEL = Residual(
    ({"model": "tfidf", "view": "sublinear"}, LATENT), weights=(1.0, 0.0, 0.25, 0.5, 2.0)
)


@pytest.fixture(scope="module")
def fit(task):
    return MODEL.fit(task, np.random.default_rng(0))


def scores(fit, task):
    queries, documents = fit.embed_queries(task.queries), fit.embed_documents(task.documents)
    return (queries.sparse @ documents.sparse.T).toarray(), queries.dense @ documents.dense.T


def test_the_order_of_words_stays_as_it_was_and_documents_have_one_length(task, fit):
    assert isinstance(fit.model, Mixture)
    rows = task.queries.matrix("sublinear")
    exact, _ = scores(fit, task)
    np.testing.assert_allclose(exact, (rows @ task.documents.matrix("sublinear").T).toarray())
    lengths = np.linalg.norm(fit.embed_documents(task.documents).dense, axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], lengths.max(), rtol=1e-4)
    learned = task.documents.matrix("sublinear") @ fit.arrays["part_2_V"]
    mean = np.linalg.norm(learned, axis=1).mean()
    assert fit.arrays["part_2_length"][0] == pytest.approx(mean, rel=1e-5)


def test_the_scale_makes_the_best_score_of_a_training_query_1(task):
    first = Bm25().fit(task, np.random.default_rng(0))
    known, scale = with_exact(task, first)
    asked = np.unique(task.train.rows[:, 0])
    products = known.queries.matrix(EXACT) @ known.documents.matrix(EXACT).T
    assert products.toarray()[asked].max(axis=1).mean() == pytest.approx(1, rel=1e-4)
    assert scale < 0.5
    assert EXACT not in task.queries.views


def test_queries_that_share_no_word_with_a_document_keep_their_scale(task):
    """The exact part says nothing of them, and the latent part is all that is learned."""
    first = Bm25().fit(task, np.random.default_rng(0))
    nothing = {
        name: sparse.csr_array(rows.shape, dtype=np.float32)
        for name, rows in task.queries.matrices.items()
    }
    silent = dataclasses.replace(task, queries=dataclasses.replace(task.queries, matrices=nothing))
    known, scale = with_exact(silent, first)
    assert scale == 1
    assert known.queries.matrix(EXACT).nnz == 0


def test_the_latent_part_is_that_of_a_training_beside_the_fixed_order(task, fit):
    """The same bits as a training whose diagonal reads the scaled vectors of the first part."""
    first = MODEL.models()[0].fit(task, np.random.default_rng(0))
    known, _ = with_exact(task, first)
    model = Bilinear(
        **{n: v for n, v in LATENT.items() if n != "model"},
        diagonal="identity", diagonal_view=EXACT,
    )  # fmt: skip
    beside = model.fit(known, np.random.default_rng(0))
    for name in ("U", "V"):
        np.testing.assert_array_equal(fit.arrays[f"part_2_{name}"], beside.arrays[name])


def test_the_first_weight_stays_unless_another_is_clearly_better(task, monkeypatch):
    heavy = dataclasses.replace(MODEL, weights=(1000.0, 0.0)).fit(task, np.random.default_rng(0))
    by_weight = heavy.facts["by_weight"]
    assert by_weight["0.0"] > by_weight["1000.0"]
    assert heavy.facts["weight"] == 0.0
    monkeypatch.setattr(residual, "is_clearly_higher", lambda a, b: False)
    kept = dataclasses.replace(MODEL, weights=(1000.0, 0.0)).fit(task, np.random.default_rng(0))
    assert kept.facts["weight"] == 1000.0
    assert Residual(MODEL.parts).weights[0] == 0.5


def test_the_weight_is_chosen_by_the_measure_that_is_asked(task, fit):
    validator = Validator(task, "valid", 2_000)
    for weight, variant in zip(sorted(MODEL.weights), fit.model.variants(fit), strict=True):
        mean = validator.measures(variant)["map"]
        assert fit.facts["by_weight"][str(weight)] == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("titles", [True, False])
def test_what_a_query_adds_to_a_field_of_its_document_does_not_help(tmp_path, monkeypatch, titles):
    """Words of links and titles would find their documents by themselves while `U'V` learns."""
    place = write_fielded(tmp_path / "docs")
    task = ssi.Task.of(ssi.read(place), "anchor", out=tmp_path / "task").data
    exact = Bm25F().fit(task, np.random.default_rng(0))
    seen = []

    def noted(task, exact, own, threads):
        seen.append((len(task.train), [(one.field, len(one.rows)) for one in own]))
        return with_exact(task, exact, own, threads)

    monkeypatch.setattr(residual, "with_exact", noted)
    model = Residual(({"model": "bm25f"}, LATENT), titles=titles)
    fit = model.beside(task, exact, np.random.default_rng(0), FitOptions())
    own, asked = [("anchors", len(task.train))], len(task.train)
    if titles:
        own.append(("title", len(task.documents)))
        asked += len(task.documents)
    assert seen == [(asked, own)]
    first = fitted_parts(fit)[0].arrays
    assert all(np.array_equal(first[name], exact.arrays[name]) for name in exact.arrays)


def test_queries_of_another_kind_are_learned_alone(tmp_path, monkeypatch):
    place = write_fielded(tmp_path / "docs")
    task = ssi.Task.of(ssi.read(place), "self", queries="words:3", out=tmp_path / "task").data
    seen = []

    def noted(task, exact, own, threads):
        seen.append((len(task.train), own))
        return with_exact(task, exact, own, threads)

    monkeypatch.setattr(residual, "with_exact", noted)
    Residual(({"model": "bm25f"}, LATENT)).fit(task, np.random.default_rng(0))
    assert seen == [(len(task.train), [])]


def test_where_people_type_the_documented_settings_of_auto_learn_beside_the_fields(
    tmp_path, monkeypatch
):
    learned, plain = [], Residual.beside

    def noted(self, *given):
        learned.append(self.parts[1]["against"])
        return plain(self, *given)

    monkeypatch.setattr(Residual, "beside", noted)
    texts = [
        {"id": str(n), "title": f"page {n}", "text": f"{'car auto' if n % 2 else 'moon sky'} {n}"}
        for n in range(80)
    ]
    task = ssi.Task.of(ssi.read(texts, out=tmp_path / "docs"), "self", out=tmp_path / "task").data
    documented = ssi.SSI(auto=True, dimensions=8, budget=2_000).ranker().documented
    halves = ValidationHalves(task, "map", 100)
    words = Bm25F().fit(halves.learning, np.random.default_rng(0))
    fit = learn_documented(documented, halves, words, 0, FitOptions())
    assert [one.name for one in fit.model.models()] == ["bm25f", "bilinear"]
    cosine = TfIdf().fit(halves.learning, np.random.default_rng(0))
    alone = learn_documented(documented, halves, cosine, 0, FitOptions())
    assert alone.model.name == "bilinear"
    others = np.column_stack([task.train.rows[:, 0], np.roll(task.train.rows[:, 1], 1)])
    twice = Pairs.of(np.vstack([task.train.rows, others]))
    several = ValidationHalves(dataclasses.replace(task, train=twice), "map", 100)
    alone = learn_documented(documented, several, words, 0, FitOptions())
    assert alone.model.name == "bilinear"
    assert learned == ["random"]  # titles stand in no field


def test_queries_with_two_relevant_documents_in_the_mean_seek_no_single_one(task):
    asked = dataclasses.replace(task, queries=task.queries.take(np.arange(3)))

    def of_pairs(some, pairs):
        return dataclasses.replace(some, train=Pairs.of(np.array(pairs)))

    assert is_known_item(of_pairs(asked, [(0, 1), (0, 2), (0, 3), (1, 2), (2, 4)]))
    assert not is_known_item(of_pairs(asked, [(0, 1), (0, 2), (0, 3), (1, 2)]))
    assert not is_known_item(of_pairs(task, [(0, 1)]))  # queries are documents


@pytest.mark.parametrize("parts", [({"model": "bm25f"},), ({"model": "bm25f"}, {"model": "bm25"})])
def test_it_needs_an_order_and_a_bilinear_model(parts):
    with pytest.raises(ValueError, match="the second of the model 'bilinear'"):
        Residual(parts)


def test_an_order_of_vectors_is_refused(task):
    with pytest.raises(BadInput, match="no inner product of words"):
        Residual(({"model": "lsi", "dimensions": (4,)}, LATENT)).fit(task, np.random.default_rng(0))


def test_it_begins_anew(task, fit):
    with pytest.raises(UnfitStart, match="begins anew"):
        MODEL.fit(task, np.random.default_rng(0), start=fit)
