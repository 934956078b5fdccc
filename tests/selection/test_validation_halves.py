"""Validation in two halves, and the models that learn nothing from pairs."""

import dataclasses

import numpy as np
import pytest

from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.ranking import Validator
from ssi_core.models.base import FitOptions
from ssi_core.models.bm25 import Bm25
from ssi_core.models.choice.untrained import is_shared, untrained
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.latent.lsi import LsiMixture
from ssi_core.models.tfidf import TfIdf
from ssi_core.selection.validation_halves import ValidationHalves


@pytest.fixture(scope="module")
def halves(task):
    return ValidationHalves(task, "map", 40)


pytestmark = pytest.mark.trains


def fit(model, task):
    return model.learn(task, np.random.default_rng(0), FitOptions())


def test_halves_share_no_query_and_are_all_that_was_drawn(task, halves):
    both = halves.sizes
    assert sum(both) == 40
    assert abs(both[0] - both[1]) <= 1
    seen = set(halves.learning.valid.rows[:, 0])
    assert len(seen) == both[0]
    others = ValidationHalves(task, "map", 40).learning.valid.rows[:, 0]
    assert set(others) == seen


def test_the_half_that_decides_is_not_what_trainings_are_validated_on(task, halves):
    first, second = fit(Bm25(), task), fit(TfIdf("raw"), task)
    kept = np.setdiff1d(task.valid.rows[:, 0], halves.learning.valid.rows[:, 0])
    better = halves.test(first, second, 0.05)
    only = dataclasses.replace(task, valid=task.valid.take(np.isin(task.valid.rows[:, 0], kept)))
    whole = ValidationHalves(task, "map", 10_000)
    assert whole.sizes[0] + whole.sizes[1] == len(np.unique(task.valid.rows[:, 0]))
    validator = Validator(only, "valid", 10_000)
    means = [MEASURES["map"](validator.ranks(one)).mean() for one in (first, second)]
    assert better.better == (better.p < 0.05 and means[0] > means[1])


def test_few_validation_queries_are_joined_by_training_queries_for_what_learns_nothing(task):
    little = ValidationHalves(task, "map", 40)
    model = fit(Bm25(), task)
    choosing = Validator(little.learning, "valid", 40)
    assert little.mean(model) == pytest.approx(MEASURES["map"](choosing.ranks(model)).mean())
    many = ValidationHalves(task, "map", 10_000)
    training = Validator(task, "train", 5_000 - many.sizes[0])
    values = [
        MEASURES["map"](validator.ranks(model))
        for validator in (Validator(many.learning, "valid", 10_000), training)
    ]
    assert many.mean_unlearned(model) == pytest.approx(np.concatenate(values).mean())


def test_means_of_sums_are_those_of_mixtures(task, halves):
    parts = TfIdf("raw"), LsiMixture("raw", dimensions=5)
    fits = [fit(model, task) for model in parts]
    weights = [(1.0, 0.0), (1.0, 0.5), (0.3, 0.7)]
    means = halves.means_of_sums(*fits, weights, learned=True)
    tables = ({"model": "tfidf"}, {"model": "lsi_mixture", "dimensions": 5})
    for (a, b), mean in zip(weights, means, strict=True):
        mixed = Mixture(tables).sum_of(task, fits, b / a)
        assert mean == pytest.approx(halves.mean(mixed), abs=1e-6)


def test_of_one_vocabulary_each_view_stands_alone_and_beside_lsi(task, halves):
    fits = dict(
        (one.model.name, mean)
        for one, mean in untrained(task, ["raw", "sublinear"], halves, np.random.default_rng(0))
    )
    assert set(fits) == {"tfidf", "bm25", "language_model", "mixture", "lsi_mixture"}


def test_the_mixture_that_is_told_is_the_mixture_that_was_measured(task, halves):
    for one, mean in untrained(task, ["raw"], halves, np.random.default_rng(0)):
        assert halves.mean_unlearned(one) == pytest.approx(mean, abs=1e-6)


def test_a_view_that_is_not_there_is_not_shared(task):
    assert is_shared(task, "raw")
    assert not is_shared(task, "dictionary.raw")


def test_a_single_query_of_validation_chooses_and_decides_nothing(task):
    one = dataclasses.replace(task, valid=task.valid.take(task.valid.rows[:, 0] == _first(task)))
    halves = ValidationHalves(one, "map", 40)
    assert halves.sizes == (1, 1)
    first, second = fit(Bm25(), task), fit(TfIdf("raw"), task)
    assert halves.test(first, second, 0.05).p >= 0.5
    assert not halves.test(first, second, 0.05).better


def test_the_second_half_alone_tells_whether_a_model_is_clearly_higher(halves, monkeypatch):
    def values(validators, of_half):
        assert validators == [halves._keeping]
        return np.array(of_half)

    monkeypatch.setattr(halves, "_values", values)
    first, second = [1.0, 0.5, 1.0], [0.5, 0.5, 0.4]
    assert halves.is_clearly_higher(first, second)
    assert not halves.is_clearly_higher(second, first)
    assert not halves.is_clearly_higher([1.0, 0.0], [0.0, 0.9])


def test_models_that_learn_nothing_are_compared_on_all_queries_that_are_new_to_them(
    halves, monkeypatch
):
    def values(validators, of_both):
        assert validators == halves._unlearned
        return np.array(of_both)

    monkeypatch.setattr(halves, "_values", values)
    assert len(halves._unlearned) == 1
    assert halves.is_clearly_above([1.0, 0.5, 1.0], [0.5, 0.5, 0.4])
    assert not halves.is_clearly_above([1.0, 0.0], [0.0, 0.9])


def _first(task):
    return task.valid.rows[0, 0]
