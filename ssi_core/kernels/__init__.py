"""Numba kernels: free functions on arrays; no strings, no I/O, no global random state.

This file is the one place with compile options. Every kernel releases the GIL, so that plain
threads run them side by side. ``NUMBA_DISABLE_JIT=1`` runs the same text as Python, with bounds
checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

# Reductions may be reordered and fused, which vectorises them; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


def jit(function: F) -> F:
    """Compile a kernel with exact float arithmetic."""
    return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


def jit_fast(function: F) -> F:
    """Compile a kernel whose reductions may be reordered."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", fastmath=_FAST)(function))
