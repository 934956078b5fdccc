"""The number of threads as a setting that ends with its block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numba
from threadpoolctl import threadpool_limits


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Let numba, BLAS and OpenMP use at most n threads; afterwards what they used before.

    numba's number is of the calling thread, the others are of the process. polars takes its number
    from ``POLARS_MAX_THREADS`` once, when it is imported, so that a command sets it before.

    Raises
    ------
    ValueError
        n is less than 1.
    """
    if n < 1:
        raise ValueError(f"n={n}: expected at least 1 thread")
    before = numba.get_num_threads()
    # More than numba has started would be an error; fewer are only slower.
    numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(n):
            yield
    finally:
        numba.set_num_threads(before)
