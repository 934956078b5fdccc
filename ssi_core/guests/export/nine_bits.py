"""Weights as Lucene keeps them: nine significant bits, which a few digits can name.

A feature field cuts the sign and the last 15 bits of a float32 off. A weight is rounded to the
nearest of what is left before it is written, so that the cut takes nothing more.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from ssi_core.types import Float32

_CUT = 15
_LARGEST = 0xFEFF
"""Code of the largest number: beyond come infinity and what is none."""
_SMALLEST = 0x0100
"""Code of the smallest normal number, below which a feature field takes none."""


def codes(weights: Float32) -> NDArray[np.uint16]:
    """Return the upper bits of weights above zero, rounded to the nearest."""
    bits = np.ascontiguousarray(weights, np.float32).view(np.uint32)
    rounded = (bits.astype(np.uint64) + (1 << (_CUT - 1))) >> _CUT
    kept: NDArray[np.uint16] = np.clip(rounded, _SMALLEST, _LARGEST).astype(np.uint16)
    return kept


def values(of: NDArray[np.uint16]) -> Float32:
    """Return the numbers that codes stand for."""
    return (of.astype(np.uint32) << _CUT).view(np.float32)


@cache
def decimals() -> list[str]:
    """Return for each code a number of four digits from which a cut makes it.

    It is the middle of what has the code: no rounding on the way leads out of there.
    """
    every = np.arange(_LARGEST + 1, dtype=np.uint16)
    low = values(every).astype(np.float64)
    middle = (low + np.append(low[1:], low[-1])) / 2
    middle[-1] = low[-1]
    return [f"{number:.4g}" for number in middle.tolist()]
