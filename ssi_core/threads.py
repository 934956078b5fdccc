"""Threads and variables as settings that end with their block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")


def thread_variables(n: int) -> dict[str, str]:
    """Return the settings of n threads for libraries that read them once, when they load."""
    blas = {f"{library}_NUM_THREADS": str(n) for library in _LIBRARIES}
    return {**blas, "POLARS_MAX_THREADS": str(n)}


@contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Let the libraries that load in the body, here and in new processes, use n threads.

    What has loaded is limited too (`limited`); afterwards all is as it was. None: no limit.
    """
    if n is None:
        yield
        return
    with override(thread_variables(n)), limited(n):
        yield


@contextmanager
def override(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables for the length of a block; afterwards they are as they were."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def limited(n: int) -> Iterator[None]:
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
    from threadpoolctl import threadpool_limits

    # Not numba by itself: kernels close the files of the working directory to it.
    from ssi_core.kernels.compiling.configuration import numba

    before = numba.get_num_threads()
    # More than numba has started would be an error; fewer are only slower.
    numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(n):
            yield
    finally:
        numba.set_num_threads(before)


@cache
def blas() -> ThreadpoolController:
    """Return the controls of BLAS: numpy has loaded its own, and to look for it takes 10 ms."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
