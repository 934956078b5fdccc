"""Examination of positions, and counts of sessions that are drawn again, against plain loops."""

import numpy as np
import pytest

from ssi_core.kernels.ranking.examination import count_rows, fit_examination


def naive_examination(shown, clicks, theta, rounds):
    """Both equations of the model, on dense tables (pairs, positions)."""
    for _ in range(rounds):
        gamma = clicks.sum(axis=1) / (shown @ theta)
        theta = clicks.sum(axis=0) / (gamma @ shown)
        theta = theta / theta[0]
    return theta


def flat(table):
    """Cells of a table that are shown, pair by pair, and where each pair begins."""
    pair, position = np.nonzero(table)
    start = np.searchsorted(pair, np.arange(len(table) + 1))
    return (pair, position), start, position.astype(np.int32)


def tables(rng):
    shown = rng.integers(0, 5, (30, 4)).astype(float)
    shown[:, 1] += 1
    return shown, rng.binomial(shown.astype(int), 0.6).astype(float)


@pytest.mark.parametrize("rounds", [1, 7])
def test_rounds_are_those_of_the_equations(rounds):
    shown, clicks = tables(np.random.default_rng(0))
    cells, start, position = flat(shown)
    theta = np.array([1.0, 0.8, 0.5, 0.3])
    expected = naive_examination(shown, clicks, theta, rounds)
    assert fit_examination(shown[cells], clicks[cells], start, position, theta, rounds, 0.0)
    np.testing.assert_allclose(theta, expected, rtol=1e-12)


def test_it_ends_where_theta_stands_still():
    shown = np.full((3, 3), 100.0)
    true = np.array([1.0, 0.5, 0.25])
    clicks = shown * true * np.array([[0.9], [0.5], [0.1]])
    cells, start, position = flat(shown)
    theta = np.ones(3)
    assert fit_examination(shown[cells], clicks[cells], start, position, theta, 100, 1e-9) < 100
    np.testing.assert_allclose(theta, true, rtol=1e-9)


def test_what_shows_nothing_keeps_its_theta_and_no_first_click_changes_no_scale():
    shown, clicks = np.array([[2.0, 2.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])
    cells = np.array([0, 0]), np.array([0, 1])
    theta = np.array([1.0, 0.5, 0.3])
    start, position = np.array([0, 2]), np.array([0, 1], np.int32)
    fit_examination(shown[cells], clicks[cells], start, position, theta, 50, 1e-12)
    assert theta[0] == 0
    assert theta[1] > 0
    assert theta[2] == 0.3


def test_sessions_count_as_often_as_they_are_drawn():
    rng = np.random.default_rng(1)
    start = np.array([0, 2, 2, 5, 9])
    cell, clicked = rng.integers(0, 4, 9).astype(np.int32), rng.random(9) < 0.5
    times = np.array([2, 5, 0, 1])
    shown, clicks = np.zeros(4), np.zeros(4)
    count_rows(times, start, cell, clicked, shown, clicks)
    each = np.repeat(times, np.diff(start))
    assert shown.tolist() == np.bincount(cell, each, 4).tolist()
    assert clicks.tolist() == np.bincount(cell, each * clicked, 4).tolist()
