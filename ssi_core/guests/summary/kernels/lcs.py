"""Longest common subsequences of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit


@jit
def mark_common(
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    lengths: NDArray[np.int32],
    marked: NDArray[np.bool_],
) -> None:
    """Mark the places of one sequence that a longest common subsequence with another one has.

    Of several such subsequences it is the one that steps back in ``one`` wherever both steps keep
    the length.

    Parameters
    ----------
    one : int64 (m,)
        Sequence whose places are marked.
    other : int64 (n,)
        Sequence to compare it with.
    lengths : int32 (m + 1, n + 1)
        Or larger. Written: length for each pair of beginnings.
    marked : bool (m,)
        Places that are found are set; the others stay as they are.
    """
    m, n = len(one), len(other)
    lengths[0, : n + 1] = 0
    for i in range(1, m + 1):
        lengths[i, 0] = 0
        for j in range(1, n + 1):
            if one[i - 1] == other[j - 1]:
                lengths[i, j] = lengths[i - 1, j - 1] + 1
            else:
                lengths[i, j] = max(lengths[i - 1, j], lengths[i, j - 1])
    i, j = m, n
    while i > 0 and j > 0:
        if one[i - 1] == other[j - 1]:
            marked[i - 1] = True
            i -= 1
            j -= 1
        elif lengths[i, j - 1] > lengths[i - 1, j]:
            j -= 1
        else:
            i -= 1
