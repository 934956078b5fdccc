"""What a solution of LSI misses is the largest angle to the true subspace."""

import numpy as np
import pytest

from benchmarks.lsi import missed


def test_the_sine_of_the_largest_angle_is_missed():
    true, turned = np.eye(5)[:, :3], np.eye(5)[:, :3]
    turned[[1, 3], 1] = np.cos(0.2), np.sin(0.2)
    turned[[2, 4], 2] = np.cos(0.3), np.sin(0.3)
    assert missed(turned @ np.array([[2.0, 1, 0], [0, 1, 1], [1, 0, 3]]), true) == pytest.approx(
        np.sin(0.3)
    )
    assert missed(true[:, ::-1], true) == pytest.approx(0, abs=1e-12)
