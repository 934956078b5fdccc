"""Threads and variables as settings that end with their block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")


def thread_variables(n: int) -> dict[str, str]:
    """Return the settings of n threads for libraries that read them once, when they load."""
    blas = {f"{library}_NUM_THREADS": str(n) for library in _LIBRARIES}
    return {**blas, "POLARS_MAX_THREADS": str(n)}


@contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Let the libraries that load in the body, here and in new processes, use n threads.

    What has loaded is limited too (`resources.limited`); afterwards all is as it was. None: no
    limit.
    """
    if n is None:
        yield
        return
    # After the variables are set, which libraries read when this loads them.
    with override(thread_variables(n)):
        from ssi_core.resources import limited

        with limited(n):
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
