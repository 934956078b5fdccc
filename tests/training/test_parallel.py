"""Workers of a training that sum up what they change."""

from functools import partial

import numpy as np
import pytest

from ssi_core.training import parallel
from ssi_core.training.descend import descend
from ssi_core.training.parallel import Share, Workers, take_share, triples_of_round
from ssi_core.types import BadInput
from tests.training import jobs

pytestmark = pytest.mark.trains


@pytest.fixture
def begin(task_dir):
    return partial(jobs.begin, task_dir)


@pytest.fixture(autouse=True)
def _fresh():
    """Leave no training in this process."""
    parallel._states.clear()


def trained(begin, place, rounds, *, workers=3, triples=40, **how):
    place.mkdir(exist_ok=True)
    trainee = Workers(begin, place, workers=workers, triples=triples, **how)
    measures = trainee.sweep(rounds * workers * triples)
    return trainee, measures


def naive_rounds(begin, rounds, workers, triples):
    """The same from its formula: each share from a copy of all arrays, all changes added."""
    base = {name: one.astype(np.float64) for name, one in arrays_of(begin()).items()}
    for number in range(rounds):
        summed = {name: one.copy() for name, one in base.items()}
        for worker in range(workers):
            trainee = begin()
            for name, one in arrays_of(trainee).items():
                one[:] = base[name]
            trainee.reseed(1 + number * workers + worker)
            trainee.sweep(triples)
            for name, one in arrays_of(trainee).items():
                summed[name] += one - base[name]
        base = summed
    return base


def arrays_of(trainee):
    return {name: one for name, one in trainee.arrays.items() if name != "states"}


@pytest.mark.parametrize("tied", [False, True])
def test_rounds_add_what_all_workers_change(begin, tmp_path, tied):
    begin = partial(begin, tied=tied)
    trainee, measures = trained(begin, tmp_path, 3)
    expected = naive_rounds(begin, 3, 3, 40)
    assert arrays_of(trainee).keys() == expected.keys()
    for name, one in trainee.arrays.items():
        np.testing.assert_allclose(one, expected[name], atol=1e-5)
    assert 0 < measures["train/violated"] <= 1
    assert len(trainee.sent) == len(trainee.received) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"round-{n}.npz" for n in range(3)]


def test_who_takes_a_share_and_when_changes_no_bit(begin, tmp_path):
    """A process that has taken none, one that took a later one, and one that takes it twice."""
    trainee, _ = trained(begin, tmp_path / "one", 2, workers=2)
    place = tmp_path / "other"
    place.mkdir()
    other = Workers(begin, place, workers=2, triples=40)
    for number in range(2):
        for worker in (1, 0, 1):
            take_share(Share(number, worker, 2, 40), begin=begin, place=place)
            if worker == 0:
                parallel._states.clear()
        other._add(number)
    for name, one in trainee.arrays.items():
        np.testing.assert_array_equal(one, other.arrays[name])
    again, _ = trained(partial(begin, seed=4), tmp_path / "seed", 2, workers=2)
    assert not np.array_equal(again.arrays["U"], trainee.arrays["U"])


@pytest.mark.slow
def test_processes_change_no_bit(begin, tmp_path):
    here, _ = trained(begin, tmp_path / "one", 2, workers=2)
    there, _ = trained(begin, tmp_path / "two", 2, workers=2, processes=2)
    for name, one in here.arrays.items():
        np.testing.assert_array_equal(one, there.arrays[name])


def test_one_worker_learns_as_the_plain_training_does(begin, tmp_path):
    how = {"epoch": 500, "budget": 2500, "patience": 9}
    plain = descend(begin(), **how)
    one = descend(Workers(begin, tmp_path, workers=1, triples=20), **how)
    assert one.triples == plain.triples
    assert abs(one.best - plain.best) < 0.05
    assert one.best < one.curve[0][1]["val/rank_loss"] - 0.05


def test_a_round_keeps_the_bound_or_is_refused():
    assert triples_of_round(1000, 4) == 32
    assert triples_of_round(1000, 4, 20) == 20
    assert triples_of_round(1000, 4, 125, bound=0.5) == 125
    with pytest.raises(BadInput, match=r"4 workers with 33 triples each.*expected 1 to 32"):
        triples_of_round(1000, 4, 33)
    with pytest.raises(BadInput, match="expected 1 to 0"):
        triples_of_round(10, 4)


def test_float16_is_refused(begin, tmp_path):
    with pytest.raises(ValueError, match="float32"):
        trained(partial(begin, storage="float16"), tmp_path, 1)
