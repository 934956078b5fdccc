"""Numba kernels: free functions on arrays; no strings, no I/O, no global random state.

This file is the one place with compile options. Every kernel releases the GIL, so that plain
threads run them side by side. ``NUMBA_DISABLE_JIT=1`` runs the same text as Python, with bounds
checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from ssi_core.kernels.compiling.configuration import numba
from ssi_core.kernels.compiling.machine_code import keep

F = TypeVar("F", bound=Callable[..., object])

# Reductions may be reordered and fused, which vectorises them; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}
_HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# What makes no array need not count references to those that it is given.
_LEAN = _HOW | {"_nrt": False}
_PART = _LEAN | {"no_cpython_wrapper": True}


def jit(function: F) -> F:
    """Compile a kernel with exact float arithmetic that makes no array."""
    return cast(F, keep(numba.njit(**_LEAN)(function)))


def jit_fast(function: F) -> F:
    """Compile a kernel whose reductions may be reordered, and that makes no array."""
    return cast(F, keep(numba.njit(**_LEAN, fastmath=_FAST)(function)))


def jit_making(function: F) -> F:
    """Compile a kernel as `jit`, which may make arrays: it takes a third longer."""
    return cast(F, keep(numba.njit(**_HOW)(function)))


def part(function: F) -> F:
    """Compile what only kernels call, in half the time: it has no entry and makes no array.

    What has `forms.Data` among its arguments is worth it: an entry takes all its arrays apart.
    """
    return _without_entry(cast(F, keep(numba.njit(**_PART)(function))))


def part_fast(function: F) -> F:
    """Compile what only kernels call, as `part`, with reductions that may be reordered.

    A product that is used twice may be fused in one caller and not in the next: what reduces
    nothing is a `part`.
    """
    return _without_entry(cast(F, keep(numba.njit(**_PART, fastmath=_FAST)(function))))


def _without_entry(compiled: F) -> F:
    """Let a call from Python be an error; numba would follow a null pointer."""

    def refuse(*arguments: object, **named: object) -> None:
        raise TypeError(f"{compiled.__name__} is a part of kernels and has no entry from Python")

    if not numba.config.DISABLE_JIT:
        # No overload is among those that a call looks for, so that it asks for a compilation.
        compiled._insert = lambda *overload: None  # type: ignore[attr-defined]
        compiled._compile_for_args = refuse  # type: ignore[attr-defined]
    return compiled
