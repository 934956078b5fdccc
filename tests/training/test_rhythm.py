"""Trainings whose epoch and patience follow from their pairs: bits, breaks, budgets and curves."""

import dataclasses

import numpy as np
import pytest

from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.training import checkpoint as checkpoints
from ssi_core.training import fitting

pytestmark = pytest.mark.trains

MODEL = Bilinear(
    dimensions=4,
    diagonal="learned",
    rates=(0.3,),
    margin=0.3,
    negatives=4,
    epoch="passes",
    patience="passes",
    decays=2,
    stop_by="map",
    validation_queries=20,
)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Short epochs and little patience; a save after each validation."""
    monkeypatch.setattr(fitting, "FEWEST", 50)
    monkeypatch.setattr(fitting, "MOST", 200)
    monkeypatch.setattr(fitting, "PASSES", 1)
    monkeypatch.setattr(fitting, "WAITED", 100)
    monkeypatch.setattr(checkpoints, "GRACE", 1e9)


class _Stopped(Exception):
    pass


def trained(task, model=MODEL, stop=None, checkpoint=None):
    """Fit; return the model and its curve."""
    curve = []

    def watch(step, metrics):
        curve.append((step, dict(metrics)))
        if step == stop:
            raise _Stopped

    fit = model.fit(task, np.random.default_rng(5), watch=watch, checkpoint=checkpoint)
    return fit, curve


def bits(fit):
    return {name: array.tobytes() for name, array in fit.arrays.items()}


@pytest.fixture
def whole(task, _small):
    return trained(task)


def test_the_curve_has_the_rate_of_each_phase_and_the_rank_loss(whole):
    fit, curve = whole
    assert fit.facts["decayed"] == 2
    rates = [metrics["train/rate"] for _, metrics in curve[1:]]
    assert sorted(set(rates), reverse=True) == pytest.approx([0.3, 0.1, 0.3 / 9])
    assert rates == sorted(rates, reverse=True)
    assert all({"val/map_error", "val/rank_loss"} <= set(metrics) for _, metrics in curve[1:])


def test_a_break_in_any_phase_changes_no_bit(task, whole, tmp_path):
    fit, curve = whole
    rates = [metrics["train/rate"] for _, metrics in curve[1:]]
    for rate in sorted(set(rates)):
        # The last validation of a phase, after which the rate falls, and the first of it.
        for position in (rates.index(rate), len(rates) - 1 - rates[::-1].index(rate)):
            state = tmp_path / f"{rate}-{position}"
            with pytest.raises(_Stopped):
                trained(task, stop=curve[1 + position][0], checkpoint=state)
            again, same = trained(task, checkpoint=state)
            assert again.facts["resumed_at"] == curve[1 + position][0]
            assert bits(again) == bits(fit)
            assert same == curve


def test_the_same_call_has_the_same_bits_and_says_its_epoch(task, whole):
    fit, curve = whole
    epoch, patience = fit.facts["epoch"], fit.facts["patience"]
    assert (epoch, patience) == fitting.rhythm("passes", "passes", len(task.train))
    assert [step for step, _ in curve[:3]] == [0, epoch, 2 * epoch]
    again, same = trained(task)
    assert (bits(again), same) == (bits(fit), curve)


def test_a_budget_at_a_validation_gives_the_model_of_then(task, whole):
    fit, _ = whole
    cut = dataclasses.replace(MODEL, budget=fit.facts["best_at"])
    again, _ = trained(task, cut)
    assert bits(again) == bits(fit)
    assert again.facts["triples"] == fit.facts["best_at"]
