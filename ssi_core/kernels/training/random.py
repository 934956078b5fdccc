"""A random number generator inside a kernel: splitmix64 (Steele, Lea, Flood 2014).

The state is one uint64 in an array of the caller, so a sweep goes on where the last one stopped
and every thread has its own. All arithmetic is modulo 2**64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@jit
def next_uint64(state: NDArray[np.uint64]) -> np.uint64:
    """Advance ``state`` (uint64 (1,)) and return 64 random bits."""
    state[0] += _STEP
    z: np.uint64 = (state[0] ^ (state[0] >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@jit
def below(state: NDArray[np.uint64], n: int) -> int:
    """Return a uniform integer in 0..n-1, for n < 2**32.

    Lemire's multiply and shift; the bias is below n / 2**32.
    """
    return np.int64(((next_uint64(state) >> _32) * np.uint64(n)) >> _32)  # type: ignore[return-value]
