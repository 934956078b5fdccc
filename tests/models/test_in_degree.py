"""In-degree alone, and beside TF-IDF, against plain counts."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from ssi_core.evaluation.ranking import Validator
from ssi_core.models import load_model
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.in_degree import InDegree
from ssi_core.models.tfidf import TfIdf
from ssi_core.serving.explain import explain_pair
from ssi_core.serving.neighbours import neighbours
from ssi_core.types import BadInput, Pairs
from tests.scores import all_scores

BETAS = (0.0, 0.01, 0.1, 1.0)


def fit_of(task, model=None):
    return (model or InDegree()).fit(task, np.random.default_rng(0))


def plain(task):
    """ln(1 + n) of every document, counted one pair at a time."""
    links = dict.fromkeys(range(len(task.documents)), 0)
    for _, document in task.train.rows.tolist():
        links[document] += 1
    return np.log1p(list(links.values()))


def test_is_the_logarithm_of_the_training_links_for_every_query(task):
    expected = plain(task)
    assert len(set(expected)) > 3
    np.testing.assert_allclose(
        all_scores(fit_of(task), task), np.tile(expected, (len(task.queries), 1)), rtol=1e-6
    )


def test_links_of_validation_and_test_change_nothing(task):
    every = np.argwhere(np.ones((len(task.queries), len(task.documents)), bool))
    other = dataclasses.replace(task, valid=Pairs.of(every), test=Pairs.of(every))
    one, two = fit_of(task), fit_of(other)
    for name in one.arrays:
        np.testing.assert_array_equal(one.arrays[name], two.arrays[name])
    more = dataclasses.replace(task, train=Pairs.of(every))
    assert (all_scores(fit_of(more), task) > all_scores(one, task)).any()


def test_knows_documents_by_id_and_title_in_any_collection(task, tmp_path):
    fit = fit_of(task)
    fit.save(tmp_path)
    rows = np.array([5, 0, 3, 1])
    others = task.documents.take(rows)
    renamed = dataclasses.replace(
        others,
        ids=pl.Series([*others.ids[:2], "elsewhere", others.ids[3]]),
        titles=pl.Series([*others.titles[:3], "another page"]),
    )
    found = load_model(tmp_path).embed_documents(renamed).sparse.toarray()[:, 0]
    np.testing.assert_allclose(found, [*plain(task)[rows[:2]], 0, 0], rtol=1e-6)


def test_without_a_training_link_nothing_is_known(task, tmp_path):
    fit = fit_of(dataclasses.replace(task, train=Pairs.of(())))
    fit.save(tmp_path)
    assert not all_scores(load_model(tmp_path), task).any()


def mixture_of(task):
    parts = ({"model": "tfidf", "view": "raw"}, {"model": "in_degree", "view": "raw"})
    return fit_of(task, Mixture(parts, betas=BETAS))


def test_beside_tfidf_its_weight_is_chosen_on_validation(task):
    """Choose it one by one, from the definition of each score."""
    x = task.documents.matrix("raw").toarray()
    cosines = x @ x.T
    validator = Validator(task, "valid", 500)
    chosen = validator._chosen
    pairs = np.ix_(chosen.queries, chosen.documents)
    losses = {}
    for beta in BETAS:
        mixed = (cosines + beta * plain(task))[pairs].astype(np.float32)
        losses[beta] = validator.rank_loss_of(mixed)
    mixture = mixture_of(task)
    assert mixture.facts["beta"] == min(losses, key=losses.__getitem__)
    found = mixture.facts["rank_loss_by_beta"]
    assert list(found.values()) == pytest.approx(list(losses.values()), abs=1e-5)
    np.testing.assert_allclose(
        all_scores(mixture, task), cosines + mixture.facts["beta"] * plain(task), atol=1e-5
    )


def test_an_explanation_names_it_beside_the_words(task):
    mixture = mixture_of(task)
    mixture.arrays["beta"][:] = 0.1
    query, document = (task.documents.take(slice(row, row + 1)) for row in (0, 8))
    found = explain_pair(mixture, query, document, 100)
    own = {part.document_word: part.part for part in found.parts}
    assert own["(in-degree)′"] == pytest.approx(0.1 * plain(task)[8], rel=1e-5)
    tfidf = explain_pair(fit_of(task, TfIdf()), query, document, 100)
    assert found.score == pytest.approx(tfidf.score + own["(in-degree)′"], rel=1e-5)


def test_relates_no_words(task):
    with pytest.raises(BadInput, match="no vectors of words"):
        neighbours(mixture_of(task), "boats1")
