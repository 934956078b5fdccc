import numpy as np

from ssi_core.kernels.sparse import unit_rows


def test_rows_come_to_unit_length_and_rows_of_zeros_stay():
    data = np.array([3.0, 4.0, 0.0, 0.0, 2.0])
    unit_rows(np.array([0, 2, 2, 4, 5]), data)
    np.testing.assert_allclose(data, [0.6, 0.8, 0, 0, 1], rtol=1e-15)
