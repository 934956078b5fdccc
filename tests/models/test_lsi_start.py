"""Trainings that begin with LSI."""

import dataclasses

import numpy as np
import pytest

from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.latent.svd import memory_of
from ssi_core.scoring.scorer import Scorer
from ssi_core.tasks.task import open_task

pytestmark = pytest.mark.trains

STILL = Bilinear(dimensions=8, rates=(1e-12,), epoch=500, budget=500, diagonal="identity")


def fit(model, task, **options):
    return model.fit(task, np.random.default_rng(3), **options)


@pytest.mark.parametrize("tied", [False, True])
def test_before_the_first_step_a_model_is_lsi_beside_its_diagonal(tied, task):
    """f = q'd + w (V_N' q)'(V_N' d), with V_N of numpy's svd; the two views differ."""
    model = dataclasses.replace(
        STILL, tied=tied, lsi_weight=2.5, view="sublinear", diagonal_view="raw"
    )
    found = fit(model, task)
    x = task.documents.matrix("sublinear").toarray().astype(np.float64)
    words = task.documents.matrix("raw").toarray().astype(np.float64)
    latent = x @ np.linalg.svd(x)[2][:8].T
    expected = words @ words.T + 2.5 * latent @ latent.T
    scores = Scorer(found.embed_documents(task.documents)).score(found.embed_queries(task.queries))
    np.testing.assert_allclose(scores, expected, atol=2e-5)
    assert 0 <= found.facts["lsi_residual"] <= 0.01


def test_dimensions_beyond_the_rank_of_the_texts_are_random_and_learn(task):
    many = 2 * len(task.documents)
    model = dataclasses.replace(STILL, dimensions=many, lsi_weight=1.0, init_std=0.02)
    still = fit(model, task).arrays
    beyond = still["U"][:, len(task.documents) :]
    assert beyond.std() == pytest.approx(0.02, rel=0.02)
    assert (still["V"][:, len(task.documents) :] != beyond).all()
    moved = fit(dataclasses.replace(model, rates=(0.1,)), task).arrays["U"]
    assert (moved[:, len(task.documents) :] != beyond).any(axis=0).all()


def test_two_vocabularies_and_a_given_start_leave_lsi_out(task, mates_task_dirs):
    """Arrays are those of random maps, or of the start, bit by bit."""
    across = open_task(mates_task_dirs["link"])
    plain = dataclasses.replace(STILL, diagonal="none", rates=(0.1,))
    before = fit(plain, task)
    for one, start in ((across, None), (task, before)):
        with_lsi = fit(dataclasses.replace(plain, lsi_weight=2.0), one, start=start)
        without = fit(plain, one, start=start)
        assert "lsi_residual" not in with_lsi.facts
        for name in ("U", "V"):
            np.testing.assert_array_equal(with_lsi.arrays[name], without.arrays[name])


def test_typed_is_a_weight_of_two_where_queries_are_no_documents(task):
    """The same texts count as typed where they stand beside the documents, and not among them."""
    plain = dataclasses.replace(STILL, rates=(0.1,))
    ids = task.queries.ids.clone()
    typed = dataclasses.replace(task, queries=dataclasses.replace(task.queries, ids=ids))
    for one, weight in ((task, 0.0), (typed, 2.0)):
        found = fit(dataclasses.replace(plain, lsi_weight="typed"), one)
        expected = fit(dataclasses.replace(plain, lsi_weight=weight), one)
        np.testing.assert_array_equal(found.arrays["U"], expected.arrays["U"])
        assert ("lsi_residual" in found.facts) == (weight > 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": "zero"}, "lsi_weight=2.0 needs U and V: form='low_rank'"),
        ({"learn_first": "titles"}, "learn_first='titles' with lsi_weight=2.0: a training has one"),
    ],
)
def test_a_start_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(STILL, lsi_weight=2.0, **changes)


@pytest.mark.parametrize(("tied", "maps"), [(True, 1), (False, 2)])
def test_the_cost_has_the_factors_and_the_start_that_is_held(tied, maps, task):
    plain = dataclasses.replace(STILL, tied=tied)
    shape = task.documents.matrix(plain.view).shape
    start = 4 * 8 * shape[1] * maps
    least = dataclasses.replace(plain, lsi_weight=2.0).cost(task).memory
    factors = memory_of(shape, 8) + start
    assert least == max(plain.cost(task).memory, factors) + start
