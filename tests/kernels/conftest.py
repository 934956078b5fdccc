"""Random numbers of kernels that run as Python."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _modular():
    """Allow overflow: numpy would warn of random numbers modulo 2**64 without the JIT."""
    with np.errstate(over="ignore"):
        yield
