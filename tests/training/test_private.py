"""Threads that have rows of their own for the most frequent words."""

import dataclasses

import numpy as np
import pytest

from ssi_core.kernels.sparse import aligned_empty
from ssi_core.kernels.training.structs import Parameters
from ssi_core.kernels.training.sweep import Group as Kernels
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.tasks.task import open_task
from ssi_core.training import private
from ssi_core.training.sgd import training_data
from tests.training.as_well import assert_two_threads_learn_as_well

SMALL = Bilinear(
    dimensions=10, view="raw", diagonal="none", rates=(0.1,), epoch=1000, budget=5000, patience=9
)


@pytest.mark.trains
@pytest.mark.parametrize("tied", [False, True])
def test_threads_with_rows_of_their_own_learn_as_well(task_dir, monkeypatch, tied):
    task, model = open_task(task_dir), dataclasses.replace(SMALL, tied=tied)
    began = []
    rows = private.PrivateRows.exchanging
    monkeypatch.setattr(
        private.PrivateRows, "exchanging", lambda *args: began.append(args[1]) or rows(*args)
    )
    monkeypatch.setattr(private, "_WORDS", 50)
    assert_two_threads_learn_as_well(model, task, 200, monkeypatch)
    assert began == [0, 1] * 6


@pytest.mark.parametrize("tied", [False, True])
def test_what_each_thread_changes_in_its_rows_reaches_the_others_whole(monkeypatch, tied):
    monkeypatch.setattr(private, "_WORDS", 5)
    U, V = aligned_empty(9, 16), aligned_empty(9, 16)
    U[:], V[:] = 1, 2
    shared = Parameters(V if tied else U, V, *[None] * (len(Parameters._fields) - 2))
    rows = private.PrivateRows(shared, 2)

    def step(thread):
        def taken(steps):
            mine = rows.parameters[thread].private
            np.testing.assert_array_equal(mine.V.rows, V[:5])
            mine.V.rows[:] += steps
            if not tied:
                np.testing.assert_array_equal(mine.U.rows, U[:5])
                mine.U.rows[:] -= steps

        return rows.exchanging(thread, taken)

    for thread, steps in ((0, 3), (1, 5), (0, 7)):
        step(thread)(steps)
    assert (V[:5] == 2 + 3 + 5 + 7).all()
    assert (V[5:] == 2).all()
    assert (U[:5] == (1 if tied else 1 - 3 - 5 - 7)).all()
    assert (U[5:] == 1).all()


def test_one_thread_shares_nothing_and_few_pairs_would_be_stale(task_dir):
    data = training_data(open_task(task_dir), "raw", "raw")
    plain, few = Kernels("low_rank", "none"), len(data.pairs) // 16
    assert private.worth_while(plain, data, 2, few)
    assert not private.worth_while(plain, data, 1, few)
    assert not private.worth_while(plain, data, 2, few + 1)
    assert not private.worth_while(plain, data, 3, few)
    for other in ("per_document", "low_rank_adagrad", "dense", "zero"):
        assert not private.worth_while(plain._replace(form=other), data, 2, few)
