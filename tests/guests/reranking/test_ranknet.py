"""The kernels of RankNet, which `make test` runs as Python too."""

import numpy as np
import pytest

from ssi_core.guests.reranking.base import Preferences
from ssi_core.guests.reranking.kernels.ranknet import ranknet_list, ranknet_round
from tests.guests.reranking import made


def net(rng, units, features):
    return rng.normal(size=(units, features)), rng.normal(size=units), rng.normal(size=units)


def loss_of(features, pairs, weights, shift, output):
    """Cross entropy of all pairs of a list, by its definition."""
    active = 1 / (1 + np.exp(-(features.values @ weights.T + shift)))
    scores = active @ output
    return sum(
        float(np.log1p(np.exp(scores[j] - scores[i])))
        for i, j in zip(pairs.better, pairs.worse, strict=True)
    )


def test_the_gradient_of_ranknet_is_that_of_finite_differences():
    features, rng = made.pairs([9], seed=4), np.random.default_rng(5)
    pairs = Preferences.of(features)
    parts = net(rng, 3, 4)
    gradient = [np.zeros_like(part) for part in parts]
    room = np.empty((9, 3)), np.empty(9), np.empty(9)
    loss = ranknet_list(features.values, 0, 9, pairs.better, pairs.worse, *parts, *room, *gradient)
    assert loss == pytest.approx(loss_of(features, pairs, *parts))
    step = 1e-6
    for part, slope in zip(parts, gradient, strict=True):
        for offset in np.ndindex(part.shape):
            value = part[offset]
            part[offset] = value + step
            above = loss_of(features, pairs, *parts)
            part[offset] = value - step
            below = loss_of(features, pairs, *parts)
            part[offset] = value
            assert slope[offset] == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-7)


def test_ranknet_stays_finite_on_scores_that_are_far_apart():
    features = made.of([[(0, 1e5), (1, -1e5)]])
    pairs = Preferences.of(features)
    parts = np.array([[5.0]]), np.zeros(1), np.array([1e5])
    gradient = [np.zeros_like(part) for part in parts]
    room = np.empty((2, 1)), np.empty(2), np.empty(2)
    loss = ranknet_list(features.values, 0, 2, pairs.better, pairs.worse, *parts, *room, *gradient)
    assert loss == pytest.approx(1e5)
    assert all(np.isfinite(part).all() for part in gradient)


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_a_round_steps_down_the_gradient_of_each_list_in_turn(rate):
    features = made.pairs([6, 1, 5], seed=2)
    pairs = Preferences.of(features)
    parts, order = net(np.random.default_rng(3), 2, 4), np.array([2, 1, 0])
    stepped = [part.copy() for part in parts]
    of_lists = (features.start, pairs.start, pairs.better, pairs.worse, order)
    loss, expected = ranknet_round(features.values, *of_lists, rate, *stepped), 0.0
    for one in (2, 0):
        chosen = slice(pairs.start[one], pairs.start[one + 1])
        gradient = [np.zeros_like(part) for part in parts]
        room = np.empty((12, 2)), np.empty(12), np.empty(12)
        rows = features.start[one], features.start[one + 1]
        ends = pairs.better[chosen], pairs.worse[chosen]
        expected += ranknet_list(features.values, *rows, *ends, *parts, *room, *gradient)
        for part, slope in zip(parts, gradient, strict=True):
            part -= rate * slope
    assert loss == pytest.approx(expected, rel=1e-12)
    for part, other in zip(parts, stepped, strict=True):
        np.testing.assert_allclose(other, part, rtol=1e-12)
