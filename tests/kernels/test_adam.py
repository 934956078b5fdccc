import numpy as np

from ssi_core.kernels.training.adam import adam_step


def test_steps_are_those_of_the_paper():
    """Kingma and Ba 2015, algorithm 1: the running averages corrected for their start.

    Their epsilon is put as at the end of their section 2, beside the average as it runs.
    """
    rng = np.random.default_rng(0)
    rate, first, second = 0.01, 0.9, 0.999
    start = rng.normal(size=40)
    values = start.astype(np.float32)
    mean, square = np.zeros(40, np.float32), np.zeros(40, np.float32)
    wanted, m, v = start.copy(), np.zeros(40), np.zeros(40)
    for step in range(1, 30):
        slope = rng.normal(size=40) * 10.0 ** rng.integers(-2, 3, 40)
        m = first * m + (1 - first) * slope
        v = second * v + (1 - second) * slope**2
        root = np.sqrt(1 - second**step)
        wanted -= rate * (m / (1 - first**step)) / ((np.sqrt(v) + 1e-8) / root)

        corrected = rate * root / (1 - first**step)
        decays = (np.float32(first), np.float32(second))
        adam_step(values, slope.astype(np.float32), mean, square, np.float32(corrected), decays)
        np.testing.assert_allclose(values, wanted, atol=2e-5)
    np.testing.assert_allclose(mean, m, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(square, v, rtol=1e-4)
    # A wrong rate would not have come as far.
    assert np.abs(wanted - start).max() > 0.05
