"""The weight of a step by the rank of d+ that the number of trials shows (WARP)."""

from __future__ import annotations

import numpy as np

from ssi_core.kernels import jit


@jit
def rank_weight(n_documents: int, tried: int) -> np.float32:
    """Return ``L(k) = 1 + 1/2 + ... + 1/k`` at ``k = floor((Y - 1) / n)``.

    k is the rank of d+ among ``Y`` documents as it shows when the n-th d- is the first that
    violates: the rarer they are, the less there is to gain (WARP: Weston, Bengio, Usunier 2011).
    Euler's expansion stands in for more than 16 terms; it is right to 1e-7.
    """
    k = (n_documents - 1) // tried
    if k > 16:
        return np.float32(np.log(k) + 0.5772156649015329 + 1 / (2 * k) - 1 / (12 * k * k))
    total = 0.0
    for j in range(1, k + 1):
        total += 1 / j
    return np.float32(total)
