"""Scores made distinct, so that no tool orders equal ones by a rule of its own."""

from __future__ import annotations

import numpy as np

from ssi_core.types import Float32


def strictly_decreasing(scores: Float32) -> Float32:
    """Return strictly falling scores in the order of scores that never rise.

    Each is the score itself, or, where that isn't lower than the one before, lower than the one
    before by a millionth of the largest. That is also strict where a tool reads float32, up to a
    million candidates. Scores that include one of the lowest number (NaN, see `count`) are replaced
    by their places; below 2^-100 a millionth would be no normal float32, and is that of 2^-100.
    """
    largest = np.abs(scores).max(initial=0)
    if largest >= np.finfo(np.float32).max:
        scores, largest = np.zeros_like(scores), np.float32(0)
    step = (max(float(largest), 2.0**-100) if largest else 1.0) / 2**20
    # s'_i = min(s_i, s'_{i-1} - step) is a running minimum of s_i + i step.
    drift = np.arange(len(scores), dtype=np.float64) * step
    return (np.minimum.accumulate(scores + drift) - drift).astype(np.float32)
