"""Documents d- from the head of the order that the diagonal begins with."""

import dataclasses

import numpy as np
import pytest

from ssi_core.kernels.training.sweep import draw_hard
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.training.hard import with_hard, with_share
from ssi_core.training.sgd import training_data
from ssi_core.types import Pairs

pytestmark = pytest.mark.trains

VIEW = "sublinear"


def lists_of(task, **settings):
    words = task.documents.matrix(VIEW).shape[1]
    data = with_hard(training_data(task, VIEW, VIEW), words, **{"depth": 7} | settings)
    return [data.shown[slice(*data.shown_indptr[q : q + 2])] for q in range(len(task.queries))]


def naive_lists(task, depth):
    """By all scores at once: without what is excluded and training pairs, equal ones by row."""
    scores = (task.queries.matrix(VIEW) @ task.documents.matrix(VIEW).T).toarray()
    scores[task.exclude.toarray()] = 0
    scores[tuple(task.train.rows.T)] = 0
    lists = []
    for q in range(len(task.queries)):
        order = [d for d in np.argsort(-scores[q], kind="stable") if scores[q, d] > 0]
        asked = q in task.train.rows[:, 0]
        lists.append(order[:depth] if asked else [])
    return lists, scores


@pytest.mark.parametrize("depth", [7, 5, 10_000])
def test_lists_are_the_head_of_the_order(task, depth):
    expected, scores = naive_lists(task, depth)
    assert sum(map(len, expected)) > 100
    lists = zip(lists_of(task, depth=depth), expected, strict=True)
    for q, (found, best) in enumerate(lists):
        assert len(found) == len(best)
        # Sums of the same products in another order: the scores are equal, but for the last bit.
        np.testing.assert_allclose(scores[q, found], scores[q, best], rtol=1e-5)


def test_training_pairs_are_never_drawn_and_held_out_pairs_are_not_barred(task):
    """Without the pairs that validation holds out, the lists would say which these are."""
    trained, held_out = set(map(tuple, task.train.rows)), set(map(tuple, task.valid.rows))
    drawn = {(q, int(d)) for q, one in enumerate(lists_of(task, depth=10_000)) for d in one}
    assert not drawn & trained
    asked = {q for q, _ in trained}
    scores = (task.queries.matrix(VIEW) @ task.documents.matrix(VIEW).T).toarray()
    near = {(q, d) for q, d in held_out if q in asked and scores[q, d] > 0}
    assert near
    assert near <= drawn
    without = dataclasses.replace(task, valid=Pairs.of([]), test=Pairs.of([]))
    for one, other in zip(lists_of(task), lists_of(without), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_the_draws_is_hard(task, share):
    words = task.documents.matrix(VIEW).shape[1]
    data = with_share(with_hard(training_data(task, VIEW, VIEW), words, depth=5), share)
    q = int(task.train.rows[0, 0])
    hard = set(data.shown[slice(*data.shown_indptr[q : q + 2])].tolist())
    state = np.array([7], np.uint64)
    drawn = [int(draw_hard(data, len(task.documents), q, state)) for _ in range(5_000)]
    barred = data.barred_indices[slice(*data.barred_indptr[q : q + 2])]
    assert not set(drawn) & set(barred.tolist())
    expected = share + (1 - share) * len(hard) / (len(task.documents) - len(barred))
    error = np.sqrt(expected * (1 - expected) / len(drawn))
    assert np.mean([d in hard for d in drawn]) == pytest.approx(expected, abs=3.5 * error)


SMALL = Bilinear(
    diagonal="learned", view=VIEW, dimensions=8, rates=(0.1,), epoch=2_000, budget=6_000,
    search_budget=500, margin=0.3, negatives=4,
)  # fmt: skip
HARD = dataclasses.replace(SMALL, against="first_stage", hard_depth=20)


def test_validation_chooses_the_share(task):
    fit = dataclasses.replace(HARD, hard_share=(0.0, 0.5)).fit(task, np.random.default_rng(0))
    assert {t["settings"]["hard_share"] for t in fit.facts["trials"]} == {0.0, 0.5}
    assert fit.facts["hard_share"] in (0.0, 0.5)


def test_the_same_seed_makes_the_same_bits_and_other_draws_than_random(task):
    fits = [one.fit(task, np.random.default_rng(0)) for one in (HARD, HARD, SMALL)]
    for name, array in fits[0].arrays.items():
        np.testing.assert_array_equal(array, fits[1].arrays[name])
    assert any((fits[0].arrays[name] != fits[2].arrays[name]).any() for name in ("U", "V"))


@pytest.mark.parametrize(
    "settings", [{"negatives_power": 0.5}, {"diagonal": "none"}, {"step": "block"}]
)
def test_it_is_refused_with_what_it_does_not_go_with(settings):
    with pytest.raises(ValueError, match=r"against=|first_stage"):
        dataclasses.replace(HARD, **settings)
