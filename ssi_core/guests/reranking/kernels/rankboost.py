"""RankBoost: potentials of rows, the best weak ranker, new weights of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit

Reals = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


@jit
def potentials(weight: Reals, better: Rows, worse: Rows, potential: Reals) -> None:
    """Write the weight of pairs in which a row is better, less that in which it is worse."""
    potential[:] = 0
    for n in range(weight.shape[0]):
        potential[better[n]] += weight[n]
        potential[worse[n]] -= weight[n]


@jit
def best_threshold(
    values: Reals, falling: Rows, potential: Reals, best: Reals
) -> tuple[int, float]:
    """Return the feature and the threshold of the weak ranker ``[x_f > threshold]`` of largest |r|.

    ``r = sum_pairs D (h(better) - h(worse))`` is the sum of potentials above the threshold (Freund
    et al. 2003, section 4). Every value of a feature is a threshold.

    Parameters
    ----------
    values : float64 (features, rows)
        Value of each feature for each document.
    falling : int64 (features, rows)
        Rows by falling value of each feature.
    potential : float64 (rows,)
        Weight of the pairs in which the row is better, minus those in which it is worse.
    best : float64 (1,)
        Written: r.
    """
    best[0] = 0.0
    feature, threshold = -1, 0.0
    for f in range(values.shape[0]):
        total = 0.0
        for n in range(values.shape[1] - 1):
            row, below = falling[f, n], falling[f, n + 1]
            total += potential[row]
            if values[f, row] > values[f, below] and abs(total) > abs(best[0]):
                best[0], feature, threshold = total, f, values[f, below]
    return feature, threshold


@jit
def reweigh(weight: Reals, better: Rows, worse: Rows, above: Flags, alpha: float) -> None:
    """Multiply weights by ``exp(-alpha (h(better) - h(worse)))``, to a sum of 1, in place."""
    right, wrong = np.exp(-alpha), np.exp(alpha)
    total = 0.0
    for n in range(weight.shape[0]):
        if above[better[n]] and not above[worse[n]]:
            weight[n] *= right
        elif above[worse[n]] and not above[better[n]]:
            weight[n] *= wrong
        total += weight[n]
    for n in range(weight.shape[0]):
        weight[n] /= total
