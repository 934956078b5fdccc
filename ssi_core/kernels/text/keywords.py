"""Random words of texts: what a keyword query is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit_making
from ssi_core.kernels.training.random import below


@jit_making
def draw_entries(
    indptr: NDArray[Any],
    allowed: NDArray[np.bool_],
    rows: NDArray[np.int32],
    words: int,
    states: NDArray[np.uint64],
    ends: NDArray[np.int64],
    entries: NDArray[np.int64],
) -> None:
    """Draw entries of CSR rows, uniformly and without replacement, from the allowed ones.

    The first steps of a Fisher-Yates shuffle. A row with fewer gives what it has.

    Parameters
    ----------
    indptr : array
        Of the matrix.
    allowed : bool (nonzeros,)
        Entries that may be drawn.
    rows : int32 array
        (n,) row that each draw is from.
    words : int
        Entries of a draw, at most.
    states : uint64 array
        (n,) seed of each draw.
    ends : int64 array
        (n + 1,), written: draw i is ``entries[ends[i]:ends[i + 1]]``, ascending.
    entries : int64 array
        Room for n * words; written.
    """
    longest = 0
    for row in rows:
        longest = max(longest, indptr[row + 1] - indptr[row])
    known, drawn = np.empty(longest, np.int64), np.zeros(longest, np.bool_)
    state = np.empty(1, np.uint64)
    ends[0] = 0
    for i in range(rows.shape[0]):
        count = 0
        for entry in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if allowed[entry]:
                known[count] = entry
                count += 1
        taken = min(words, count)
        state[0] = states[i]
        for t in range(taken):
            other = t + below(state, count - t)
            known[t], known[other] = known[other], known[t]
        start, end = indptr[rows[i]], ends[i]
        for t in range(taken):
            drawn[known[t] - start] = True
        for t in range(indptr[rows[i] + 1] - start):
            if drawn[t]:
                entries[end] = start + t
                end += 1
                drawn[t] = False
        ends[i + 1] = end
