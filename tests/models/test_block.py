"""Trainings whose pairs share the documents d- of their block."""

import dataclasses

import numpy as np
import pytest

from ssi_core.kernels.vectors import converts_float16
from ssi_core.models.base import FitOptions
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.training import MapTraining
from ssi_core.training import sgd

pytestmark = pytest.mark.trains

SMALL = Bilinear(
    dimensions=8, rates=(0.03,), epoch=1000, budget=4000, margin=0.3, negatives=20, warp=True,
    step="block",
)  # fmt: skip
LEARNED = dataclasses.replace(SMALL, diagonal="learned")


def fit(model, task, seed=5, **options):
    return model.fit(task, np.random.default_rng(seed), **options)


def assert_same(one, other):
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name])


@pytest.mark.parametrize("model", [SMALL, LEARNED], ids=lambda model: model.diagonal)
def test_kill_and_resume_gives_the_same_bits(model, task, tmp_path):
    whole = fit(model, task)

    def cut(step, metrics):
        if step == 2000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, task, watch=cut, checkpoint=tmp_path / "state")
    again = fit(model, task, checkpoint=tmp_path / "state")
    assert again.facts["resumed_at"] == 2000
    assert_same(whole, again)
    assert not np.array_equal(whole.arrays["U"], fit(model, task, seed=6).arrays["U"])


def test_sweeps_of_thousands_are_those_of_one(task):
    """An epoch that was chosen by the clock repeats, for a block ends with each thousand."""
    training = MapTraining(SMALL, task, {}, 3, FitOptions())
    settings = {"rate": 0.03, "init_std": 0.1, "alpha": 1.0, "margin": 0.3}
    one, other = training.begin(settings), training.begin(settings)
    one.sweep(3000)
    for _ in range(3):
        other.sweep(1000)
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name])


def gain(model, task, threads=1):
    """Training rank loss that 10,000 triples take off that of the start."""
    training = MapTraining(model, task, {}, 3, FitOptions(threads=threads))
    powers = {"negatives_power": model.negatives_power} if model.negatives_power else {}
    sgd = training.begin({"rate": 0.01, "init_std": 0.1, "alpha": 1.0, "margin": 0.3, **powers})
    before = training.train(sgd.parameters)
    sgd.sweep(10_000)
    return before - training.train(sgd.parameters)


@pytest.mark.parametrize("changes", [{}, {"tied": True}, {"negatives_power": 0.5}], ids=str)
def test_blocks_teach_about_what_triples_teach(changes, task):
    model = dataclasses.replace(SMALL, **changes)
    blocks, triples = gain(model, task), gain(dataclasses.replace(model, step="triple"), task)
    assert triples > 0.008
    assert 0.75 * triples < blocks < 0.95 * triples


class InTurn:
    """An executor whose threads work one after the other: the first takes all that there is."""

    def __init__(self, threads):
        self.threads = threads

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def map(self, one, takers):
        assert len(takers) == self.threads == 2
        return map(one, takers)


def test_threads_share_the_parameters_and_take_every_piece_once(task, monkeypatch):
    alone = gain(SMALL, task)
    monkeypatch.setattr(sgd, "ThreadPoolExecutor", InTurn)
    assert gain(SMALL, task, threads=2) == alone


def test_two_threads_learn_as_well_as_one(task):
    """Each run is another one: threads that write into one row lose what the other wrote."""
    gains = [gain(SMALL, task, threads=2) for _ in range(8)]
    assert np.mean(gains) == pytest.approx(gain(SMALL, task), rel=0.12)


@pytest.mark.skipif(not converts_float16(), reason="no float16 on this processor")
def test_float16_learns_in_blocks(task):
    half = dataclasses.replace(SMALL, storage="float16")
    assert fit(half, task).arrays["U"].dtype == np.float16
    assert gain(half, task) == pytest.approx(gain(SMALL, task), rel=0.01)


@pytest.mark.parametrize(
    "changes",
    [{"adagrad": True}, {"form": "zero"}, {"against": "shown"}],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_blocks_are_refused_where_documents_cannot_be_shared(changes):
    with pytest.raises(ValueError, match=r"step='block' with .*: expected .*, or step='triple'"):
        dataclasses.replace(SMALL, **changes)
