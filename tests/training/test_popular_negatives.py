"""Documents d- that are drawn the oftener, the more training pairs lead to them."""

import dataclasses

import numpy as np
import pytest

from ssi_core.kernels.sparse import read_only
from ssi_core.kernels.training.sweep import draw_weighted
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.training.sgd import by_in_degree, excluded, held_out_hits, training_data

pytestmark = pytest.mark.trains


def weights_of(task, power):
    """``(1 + n_d)^power``, counted pair by pair."""
    n = [0] * len(task.documents)
    for _, d in task.train.rows:
        n[d] += 1
    weights = np.array([(1 + count) ** power for count in n])
    return weights / weights.sum()


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_a_document_has_places_by_its_weight(task, power):
    places = by_in_degree(task, power)
    share = np.bincount(places, minlength=len(task.documents)) / len(places)
    np.testing.assert_allclose(share, weights_of(task, power), atol=1 / len(places))


def test_what_is_drawn_is_not_excluded_and_goes_by_weight(task):
    power, q = 1.0, int(task.train.rows[0, 0])
    data = training_data(task, "raw", "raw")
    data = data._replace(candidates=read_only(by_in_degree(task, power)))
    state = np.array([7], np.uint64)
    drawn = [int(draw_weighted(data, len(task.documents), q, state)) for _ in range(100_000)]
    barred = excluded(task)[[q]].indices
    assert not set(drawn) & set(barred.tolist())
    expected = weights_of(task, power)
    expected[barred] = 0
    share = np.bincount(drawn, minlength=len(task.documents)) / len(drawn)
    expected /= expected.sum()
    assert (np.abs(share - expected) <= 4.5 * np.sqrt(expected / len(drawn))).all()


@pytest.mark.parametrize("power", [0.0, 0.75])
def test_hits_are_those_of_every_draw(task, power):
    """Pair by pair: the chance that d- is one that validation holds out for the query."""
    weights, barred = weights_of(task, power), excluded(task).toarray()
    held_out = np.zeros(barred.shape, bool)
    held_out[tuple(task.valid.rows.T)] = True
    chances = []
    for q, _ in task.train.rows:
        allowed = np.where(barred[q], 0, weights)
        chances.append(allowed[held_out[q]].sum() / allowed.sum())
    assert held_out_hits(task, power) == pytest.approx(np.mean(chances), rel=1e-6)


SMALL = Bilinear(
    dimensions=8, rates=(0.1,), epoch=2_000, budget=6_000, search_budget=500, margin=0.3
)


def test_validation_chooses_the_power_and_hits_are_kept(task):
    model = dataclasses.replace(SMALL, negatives_power=(0.0, 0.5, 1.0))
    fit = model.fit(task, np.random.default_rng(0))
    trials = {t["settings"]["negatives_power"] for t in fit.facts["trials"]}
    assert trials == {0.0, 0.5, 1.0}
    chosen = fit.facts["negatives_power"]
    assert fit.facts["held_out_hits"] == pytest.approx(held_out_hits(task, chosen))
    assert fit.facts["held_out_hits_uniform"] == pytest.approx(held_out_hits(task, 0.0))


def test_a_uniform_draw_is_what_it_was(task):
    fits = [
        dataclasses.replace(SMALL, negatives_power=power).fit(task, np.random.default_rng(0))
        for power in (0.0, (0.0,))
    ]
    for name in fits[0].arrays:
        np.testing.assert_array_equal(fits[0].arrays[name], fits[1].arrays[name])
    assert "held_out_hits" not in fits[0].facts


def test_what_was_shown_has_its_own_draw():
    with pytest.raises(ValueError, match="negatives_power"):
        Bilinear(against="shown", negatives_power=0.5)
