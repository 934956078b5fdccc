"""L-BFGS on functions whose minimum is known."""

import numpy as np
import pytest
from scipy import optimize

from ssi_core.guests.clickthrough.lbfgs import Lbfgs


def valley(point):
    """Rosenbrock's function, where plain descent takes thousands of steps."""
    return optimize.rosen(point), optimize.rosen_der(point)


@pytest.mark.parametrize("memory", [1, 3, 10])
def test_finds_the_minimum_of_a_narrow_valley(memory):
    descent = Lbfgs(valley, np.array([-1.2, 1.0]), memory)
    values = [descent.value]
    for _ in range(200):
        descent.step()
        values.append(descent.value)
    np.testing.assert_allclose(descent.point, 1, atol=1e-4)
    assert np.diff(values).max() <= 0


def test_its_arrays_are_the_whole_state():
    plain, other = (Lbfgs(valley, np.array([-1.2, 1.0, start]), 3) for start in (0.8, 5.0))
    for _ in range(7):
        plain.step()
    for name, array in plain.arrays.items():
        other.arrays[name][...] = array
    for descent in (plain, other):
        for _ in range(5):
            descent.step()
    np.testing.assert_array_equal(plain.point, other.point)
    assert plain.value == other.value


def test_counts_evaluations_and_stays_where_no_step_is_lower():
    """A function that cannot fall at all, as where rounding hides what a step brings."""
    calls = []

    def flat(point):
        calls.append(point)
        return 1.0, np.ones_like(point)

    descent = Lbfgs(flat, np.ones(3), 2)
    calls.clear()
    assert descent.step() == len(calls) > 1
    np.testing.assert_array_equal(descent.point, 1)


def test_a_minimum_is_not_left():
    descent = Lbfgs(valley, np.ones(3), 2)
    assert descent.step() == 0
