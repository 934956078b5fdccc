"""Codes of points in a plane: what the paper says of linear and of other cuts."""

import numpy as np

from benchmarks.toys import HASHERS, measure, pie, two_moons


def test_points_are_where_they_belong():
    points, classes = pie(2000, np.random.default_rng(0))
    assert classes is None
    radius = np.hypot(*points.T)
    assert radius.max() <= 1
    assert np.mean(radius < 0.5) - 0.25 < 0.04
    points, moon = two_moons(500, np.random.default_rng(0))
    assert set(moon.tolist()) == {0, 1}
    assert points[moon == 0, 1].mean() > points[moon == 1, 1].mean()


def test_lines_through_the_centre_make_no_more_than_two_sectors_each():
    linear = measure(HASHERS["STH, linear SVM"], 0, "pie")
    other = measure(HASHERS["STH, Gaussian SVM"], 0, "pie")
    assert linear["codes"] <= 32 < 3 * 32 < other["codes"]
    assert other["correlation"] < 0.15 < 0.3 < linear["correlation"]
    assert other["precision"] > 0.6 > 0.2 > linear["precision"]


def test_gaussian_machines_on_a_graph_of_distances_tell_the_moons_apart():
    found = {label: measure(hasher, 0, "two-moon") for label, hasher in HASHERS.items()}
    assert found["STH, Gaussian SVM"]["best_bit"] > 0.98
    assert found["STH, Gaussian SVM"]["precision"] > 0.98
    for label in ("the same, cosine graph", "STH, linear SVM", "spectral hashing"):
        assert found[label]["best_bit"] < 0.95
