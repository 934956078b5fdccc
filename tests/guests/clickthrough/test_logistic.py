import numpy as np
import pytest

from ssi_core.guests.clickthrough.kernels.logistic import logistic_pairs


@pytest.mark.parametrize("gamma", [1.0, 1e4])
def test_losses_and_slopes_are_those_of_each_triple(gamma):
    """Also where an exponential of gamma times the difference would overflow."""
    rng = np.random.default_rng(0)
    queries, documents = rng.standard_normal((4, 3)), rng.standard_normal((5, 3))
    left, right = np.array([0, 2, 2]), rng.integers(0, 5, (3, 4))
    losses, slopes = np.full(3, np.nan), np.full((3, 4), np.nan)
    logistic_pairs(queries, documents, left, right, gamma, losses, slopes)
    for i in range(3):
        cosines = documents[right[i]] @ queries[left[i]]
        scaled = gamma * (cosines[0] - cosines[1:])
        assert losses[i] == pytest.approx(np.logaddexp(0, -scaled).sum())
        with np.errstate(over="ignore"):
            each = gamma / (1 + np.exp(scaled))
        np.testing.assert_allclose(slopes[i], [-each.sum(), *each], rtol=1e-9, atol=1e-12)
