"""The area under the ROC curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.types import Float64


def auc(scores: Float64, relevant: NDArray[np.bool_]) -> float:
    """Return the share of (positive, negative) pairs in which the positive has the higher score.

    A pair of equal scores counts a half. With R the mean ranks, P positives and n values,

        AUC = (sum_{i positive} R_i - P (P + 1) / 2) / (P (n - P))

    Parameters
    ----------
    scores : float64 (n,)
        A score for each.
    relevant : bool (n,)
        Which are positive; there are some of both.

    Raises
    ------
    ValueError
        All are positive, or none is.

    Examples
    --------
    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    n, positive = len(relevant), int(relevant.sum())
    if not 0 < positive < n:
        raise ValueError(f"relevant: {positive} of {n} are positive, expected some and not all")
    _, position, times = np.unique(scores, return_inverse=True, return_counts=True)
    rank = np.cumsum(times) - (times - 1) / 2
    pairs = float(rank[position[relevant]].sum()) - positive * (positive + 1) / 2
    return pairs / (positive * (n - positive))
