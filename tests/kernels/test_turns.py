"""Parts that take turns, called by their addresses."""

from typing import NamedTuple

import numpy as np
import pytest

from ssi_core.kernels import part
from ssi_core.kernels.training.sweep import begin


class Sum(NamedTuple):
    total: np.ndarray
    by: float


@part
def add(turn, steps):
    for _ in range(steps):
        turn.total[0] += turn.by


@part
def double(turn, steps):
    (total,) = turn
    for _ in range(steps):
        total[0] *= 2


def test_parts_take_a_step_each_one_after_the_other():
    total = np.ones(1)
    take = begin([double, add, add], [(total,), Sum(total, 3.0), Sum(total, 0.5)])
    take(2)
    assert total == (1 * 2 + 3.5) * 2 + 3.5
    take(1)
    assert total == ((1 * 2 + 3.5) * 2 + 3.5) * 2 + 3.5


@pytest.mark.parametrize("steps", [0, 1, 1000])
def test_one_alone_takes_all_steps(steps):
    total = np.zeros(1, np.float32)
    begin([add], [Sum(total, 2.0)])(steps)
    assert total == 2 * steps


def test_a_turn_of_another_type_has_code_of_its_own():
    whole, half = np.zeros(1, np.int64), np.zeros(1)
    for total, by in ((whole, 1), (half, 0.5)):
        begin([add], [Sum(total, by)])(3)
    assert (whole, half) == (3, 1.5)


def test_each_part_has_a_turn():
    with pytest.raises(ValueError, match="shorter"):
        begin([add, add], [Sum(np.zeros(1), 1.0)])
