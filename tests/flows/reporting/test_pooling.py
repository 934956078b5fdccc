"""Differences of several collections, pooled: beside published and naive results."""

from __future__ import annotations

import numpy as np
import pytest

from flows.reporting.pooling import random_effects

# Thirteen trials of a vaccine (Colditz et al. 1994): log risk ratios and their variances.
EFFECTS = [-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209,
           0.0120, -0.4694, -1.3713, -0.3394, 0.4459, -0.0173]  # fmt: skip
VARIANCES = [0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230,
             0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714]  # fmt: skip


def test_the_published_trials_are_pooled_as_by_another_program():
    """Numbers of statsmodels 0.14: `combine_effects(..., method_re="iterated", use_t=True)`."""
    found = random_effects(EFFECTS, np.sqrt(VARIANCES))
    assert found.tau**2 == pytest.approx(0.31808244, abs=1e-7)
    assert found.mean == pytest.approx(-0.71497031, abs=1e-7)
    assert (found.low, found.high) == pytest.approx((-1.10910564, -0.32083498), abs=1e-7)


def test_another_collection_lies_further_off_than_the_mean():
    found = random_effects(EFFECTS, np.sqrt(VARIANCES))
    error = (found.high - found.low) / 2 / 2.178812830  # t of 12 degrees
    half = 2.200985160 * np.sqrt(found.tau**2 + error**2)  # of 11
    assert found.next_high == pytest.approx(found.mean + half, abs=1e-8)
    assert found.next_low == pytest.approx(found.mean - half, abs=1e-8)


def test_collections_that_agree_are_weighed_by_their_errors_alone():
    found = random_effects([0.1, 0.13], [0.1, 0.2])
    assert found.tau == 0
    assert found.mean == pytest.approx((0.1 / 0.01 + 0.13 / 0.04) / (1 / 0.01 + 1 / 0.04))
    # They agree better than by chance, which makes the interval no narrower: t of 1 degree.
    assert found.high - found.mean == pytest.approx(12.7062047 / np.sqrt(125))
    assert (found.next_low, found.next_high) == (None, None)


def test_the_interval_has_the_true_difference_as_often_as_it_says():
    random = np.random.default_rng(3)
    errors = np.array([0.02, 0.03, 0.05, 0.03])
    inside = other = 0
    for _ in range(4000):
        true = random.normal(0.04, 0.05, 5)
        found = random_effects(true[:4] + random.normal(0, errors), errors)
        inside += found.low <= 0.04 <= found.high
        other += found.next_low <= true[4] <= found.next_high
    # Of four collections with unlike errors 95 % are 96 and 94: a degree of freedom more or less
    # moves them by 2 and 5, a variance between collections that is left out by 1 and 13.
    assert inside / 4000 == pytest.approx(0.963, abs=0.007)
    assert other / 4000 == pytest.approx(0.939, abs=0.007)


@pytest.mark.parametrize(("effects", "errors"), [([0.1], [0.1]), ([0.1, 0.2], [0.1])])
def test_fewer_than_two_collections_are_refused(effects, errors):
    with pytest.raises(ValueError, match="expected two or more"):
        random_effects(effects, errors)


def test_errors_of_zero_are_refused():
    with pytest.raises(ValueError, match="above 0"):
        random_effects([0.1, 0.2], [0.1, 0.0])
