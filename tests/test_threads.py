import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from ssi_core.resources import limited


def numbers():
    return numba.get_num_threads(), [pool["num_threads"] for pool in threadpool_info()]


def test_the_limit_holds_inside_and_ends_with_the_block():
    np.ones((4, 4)) @ np.ones((4, 4))  # loads BLAS
    with limited(2):
        before = numbers()
        with limited(1):
            assert numbers() == (1, [1] * len(before[1]))
        assert numbers() == before
        with pytest.raises(KeyError), limited(1):
            raise KeyError
        assert numbers() == before
    assert before[1]


def test_more_than_there_are_cores_is_no_error():
    before = numbers()
    with limited(10 * numba.config.NUMBA_NUM_THREADS):
        assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
    assert numbers() == before


def test_less_than_one_is_an_error():
    with pytest.raises(ValueError, match="n=0"), limited(0):
        pass
