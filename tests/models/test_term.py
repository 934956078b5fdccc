"""What all term models have in common: learning from a share of the pairs, and curves."""

import dataclasses

import numpy as np
import pytest

from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.half_transductive import HalfTransductive
from ssi_core.models.bilinear.word_pairs import WordPairs
from ssi_core.tasks.training_part import share_of_pairs
from ssi_core.training.sgd import excluded

pytestmark = pytest.mark.trains

TRAINING = {"rates": (0.1,), "epoch": 500, "budget": 1500, "margin": 0.3, "patience": 9}
MODELS = [
    Bilinear(dimensions=8, **TRAINING),
    WordPairs(form="sparse", entries=20, round_budget=500, initial="identity", **TRAINING),
    HalfTransductive(dimensions=8, functional_budget=500, **TRAINING),
]
CURVES = {"curve/train_rank_loss", "curve/test_rank_loss"}


def fit(model, task):
    points = []
    fitted = model.fit(
        task, np.random.default_rng(3), watch=lambda step, m: points.append((step, dict(m)))
    )
    return fitted, points


def same(a, b):
    return set(a.arrays) == set(b.arrays) and all(
        np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_curves_tell_more_and_change_nothing(model, task):
    plain, untold = fit(model, task)
    followed, told = fit(dataclasses.replace(model, curves=True), task)
    assert same(plain, followed)
    assert [{k: v for k, v in m.items() if k not in CURVES} for _, m in told] == [
        m for _, m in untold
    ]
    at_validations = [m for step, m in told if "train/hinge" in m]
    assert len(at_validations) >= 3
    assert all(set(m) >= CURVES and 0 < m["curve/test_rank_loss"] < 1 for m in at_validations)


def test_the_test_side_decides_nothing(task):
    """Other test pairs: another test curve, the same training."""
    model = dataclasses.replace(MODELS[0], curves=True)
    other = dataclasses.replace(task, test=task.valid)
    (ours, told), (theirs, told_of_others) = fit(model, task), fit(model, other)
    assert same(ours, theirs)
    for name, equal in (("curve/test_rank_loss", False), ("curve/train_rank_loss", True)):
        pairs = zip(told[1:], told_of_others[1:], strict=True)
        assert all((a[name] == b[name]) is equal for (_, a), (_, b) in pairs)


def test_a_share_is_all_that_training_knows_of_the_pairs(task):
    """As on a task that never had the others, but for the candidates of validation."""
    model = dataclasses.replace(MODELS[0], pairs=0.3, curves=True)
    alone, whole = share_of_pairs(task, 0.3), dataclasses.replace(model, pairs=1.0)
    ours, theirs, of_all = (
        [m for step, m in told if step > 0]
        for _, told in (fit(model, task), fit(whole, alone), fit(whole, task))
    )
    for name in ("train/hinge", "train/violated", "curve/train_rank_loss"):
        assert [m[name] for m in ours] == [m[name] for m in theirs]
        assert [m[name] for m in ours] != [m[name] for m in of_all]
    for name in ("val/rank_loss", "curve/test_rank_loss"):
        assert [m[name] for m in ours] != [m[name] for m in theirs]


def test_links_left_out_may_be_drawn_as_negatives(task):
    alone = share_of_pairs(task, 0.3)
    kept = {tuple(row) for row in alone.train.rows.tolist()}
    left_out = [row for row in task.train.rows.tolist() if tuple(row) not in kept]
    assert all(excluded(task)[*row] for row in left_out[:50])
    assert not any(excluded(alone)[*row] for row in left_out[:50])


@pytest.mark.parametrize("pairs", [0.0, -0.5, 1.01, float("nan")])
def test_a_share_is_above_0_and_at_most_1(pairs):
    with pytest.raises(ValueError, match=r"pairs=.*expected (more|at most|a finite)"):
        Bilinear(pairs=pairs)
