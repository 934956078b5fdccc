import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ssi_core.evaluation.significance import (
    at_floor,
    holm,
    paired_beyond,
    paired_equivalence,
    paired_randomisation,
    paired_t,
    rounds_of,
    smallest_detectable,
    stratified_randomisation,
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
    assert p == pytest.approx(extreme.mean(), abs=0.0025)


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
    assert paired_randomisation(a, c) == pytest.approx(paired_t(a, c), abs=0.005)


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


def test_no_difference_by_hand():
    """Mean .005, standard error sqrt(.0005 / 3) / 2: t is 5.42 and -sqrt(15), of 3 degrees.

    Student of 3 degrees at t: 1/2 + (u / (1 + u^2) + arctan u) / pi, where u = t / sqrt 3.
    """
    a, b = np.array([0.51, 0.49, 0.52, 0.5]), np.full(4, 0.5)
    u = np.sqrt(5)
    p = 0.5 - (u / 6 + np.arctan(u)) / np.pi
    assert p == pytest.approx(0.01523, abs=1e-5)
    assert paired_equivalence(a, b, 0.03) == pytest.approx(p)
    assert paired_equivalence(b, a, 0.03) == pytest.approx(p)
    assert paired_beyond(a, b, 0.03) == 1
    # The other way round: the same distance from the margin, on its other side.
    assert paired_beyond(a + 0.05, b, 0.03) == pytest.approx(2 * p)
    assert paired_beyond(b, a + 0.05, 0.03) == pytest.approx(2 * p)
    assert paired_equivalence(a + 0.05, b, 0.03) == pytest.approx(1 - p)


@pytest.mark.parametrize("margin", [0.01, 0.02, 0.05, 0.1])
def test_no_difference_holds_where_the_interval_is_inside_the_margin(margin):
    a, b = np.random.default_rng(3).normal([[0.01], [0.0]], 0.1, (2, 200))
    low, high = stats.ttest_rel(a, b).confidence_interval(0.9)
    assert (paired_equivalence(a, b, margin) < 0.05) == (-margin < low and high < margin)


@pytest.mark.parametrize("true", [0.03, -0.03])
def test_at_the_margin_no_difference_is_found_as_often_as_the_level_allows(true):
    """2,000 pairs of rankers whose true difference is the margin: alpha = .05 and its error."""
    rng = np.random.default_rng(11)
    # Most queries are alike, as with average precision.
    differences = true + rng.normal(0, 0.2, (2000, 300)) * (rng.random((2000, 300)) < 0.5)
    nothing = np.zeros(300)
    wrong = np.mean([paired_equivalence(d, nothing, 0.03) < 0.05 for d in differences])
    beyond = np.mean([paired_beyond(d, nothing, 0.03) < 0.05 for d in differences])
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
    assert 0.035 < wrong < limit
    assert beyond < limit
    # With no true difference it is found nearly always.
    found = np.mean([paired_equivalence(d - true, nothing, 0.03) < 0.05 for d in differences[:500]])
    assert found > 0.92


def test_one_query_says_nothing_of_a_difference_and_a_margin_is_above_zero():
    assert paired_equivalence([0.5], [0.5], 0.1) == 1
    assert paired_equivalence([0.5, 0.6], [0.5, 0.6], 0.1) == 0
    for margin in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match="margin="):
            paired_equivalence([0.5, 0.6], [0.5, 0.6], margin)


def test_a_collection_counts_the_same_with_few_and_with_many_queries():
    """Differences of 1/2 on one query and 1/4 on four: 1/4 and -1/8 to 1/8 of the statistic."""
    one = ([0.5], [0.0])
    # |1/4 - 1/8| is the least of all 32 assignments of signs, so that each is as extreme.
    assert stratified_randomisation([one, ([0.0] * 4, [0.25] * 4)], rounds=999) == 1
    # 1/4 + 1/8 is the most, reached by two of them.
    p = stratified_randomisation([one, ([0.25] * 4, [0.0] * 4)], rounds=50_000)
    assert p == pytest.approx(2 / 32, abs=0.004)
    with pytest.raises(ValueError, match="pairs"):
        stratified_randomisation([])


def test_one_collection_is_the_paired_test():
    a, b = np.random.default_rng(6).normal([[0.1], [0.0]], 0.3, (2, 40))
    assert stratified_randomisation([(a, b)]) == paired_randomisation(a, b)


def test_the_smallest_detectable_difference_is_found_as_often_as_it_says():
    rng = np.random.default_rng(12)
    size, error = 20, 0.3
    least = (stats.t.ppf(0.975, size - 1) + stats.t.ppf(0.8, size - 1)) * error / np.sqrt(size)
    samples = rng.normal(0, error, (4000, size))
    nothing = np.zeros(size)
    assert np.mean([smallest_detectable(d, nothing) for d in samples]) == pytest.approx(
        least * np.mean(samples.std(axis=1, ddof=1)) / error
    )
    found = np.mean([paired_t(d + least, nothing) < 0.05 for d in samples])
    assert found == pytest.approx(0.8, abs=0.02)
    assert np.isnan(smallest_detectable([0.5], [0.4]))
