import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ssi_core.evaluation.significance import (
    at_floor,
    holm,
    paired_randomisation,
    paired_t,
    rounds_of,
)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_randomisation_agrees_with_all_assignments_of_signs(alternative):
    difference = np.array([0.3, -0.1, 0.5, 0.2, 0.0, 0.4, -0.2, 0.1])
    signs = np.array(list(itertools.product([1, -1], repeat=8)))
    sums, observed = signs @ difference, difference.sum()
    extreme = {
        "two-sided": np.abs(sums) >= observed - 1e-9,
        "greater": sums >= observed - 1e-9,
        "less": sums <= observed + 1e-9,
    }[alternative]
    p = paired_randomisation(difference, np.zeros(8), rounds=40_000, alternative=alternative)
    assert p == pytest.approx(extreme.mean(), abs=0.01)


def test_randomisation_is_uniform_where_nothing_differs():
    rng = np.random.default_rng(0)
    p = [
        paired_randomisation(*rng.standard_normal((2, 40)), rounds=500, seed=i) for i in range(300)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_randomisation_is_repeatable_never_zero_and_sees_a_difference():
    rng = np.random.default_rng(1)
    a = rng.random(200)
    b = a - 0.1
    assert paired_randomisation(a, b, rounds=999) == 1 / 1000
    assert paired_randomisation(a, b, rounds=999, alternative="less") == 1
    assert paired_randomisation(a, a) == 1
    c = rng.random(200)
    assert paired_randomisation(a, c, seed=3) == paired_randomisation(a, c, seed=3)
    assert paired_randomisation(a, c) == pytest.approx(paired_t(a, c), abs=0.02)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_t_equals_scipy(alternative):
    a, b = np.random.default_rng(2).standard_normal((2, 50))
    expected = stats.ttest_rel(a, b, alternative=alternative).pvalue
    assert paired_t(a, b, alternative=alternative) == pytest.approx(expected)


def test_t_of_differences_without_spread():
    assert paired_t([1, 2], [1, 2]) == 1
    assert paired_t([2, 3], [1, 2]) == 0
    assert paired_t([2, 3], [1, 2], alternative="less") == 1
    assert paired_t([2], [1]) == 1


def test_holm_by_hand():
    # 5 * .01, 4 * .012, 3 * .02, 2 * .04, 1 * .5, then the running maximum.
    assert holm([0.02, 0.01, 0.5, 0.04, 0.012]) == pytest.approx([0.06, 0.05, 0.5, 0.08, 0.05])
    assert holm([0.4, 0.9, 0.6]).tolist() == [1, 1, 1]
    assert holm([]).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_never_lowers(p_values):
    adjusted = holm(p_values)
    assert (adjusted >= p_values).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"a, b: shapes \(2,\), \(3,\)"):
        paired_t([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="one value a query"):
        paired_randomisation([], [])
    with pytest.raises(ValueError, match="two-sided, greater, less"):
        paired_t([1, 2], [1, 3], alternative="larger")


def test_rounds_grow_with_the_family_and_the_smallest_p_is_a_bound():
    assert (rounds_of(1), rounds_of(100), rounds_of(269)) == (10_000, 10_000, 26_900)
    # The smallest p that so many rounds give decides each of the tests, after Holm too.
    assert holm(np.full(5000, 1 / (1 + rounds_of(5000)))).max() < 0.01
    a = np.random.default_rng(4).random(200)
    assert at_floor(paired_randomisation(a, a - 0.1, rounds=999), 999)
    assert not at_floor(paired_randomisation(a, a, rounds=999), 999)
    assert not at_floor(2 / 1000, 999)
