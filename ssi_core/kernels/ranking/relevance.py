"""The relevance of a pair, from its clicks and from how often it was looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def estimate_relevance(
    clicks: NDArray[np.float64], looks: NDArray[np.float64], mean: float
) -> NDArray[np.float64]:
    """Return ``(clicks + m * mean) / (looks + m)`` with ``m = 1 / mean``, for each pair.

    A pair is pulled towards the mean as if it had been looked at m times more, and clicked once in
    these m looks. So m follows the log: where one look in 20 is a click, m is 20. It is the
    posterior mean of a Poisson rate whose prior is exponential with this mean.

    Parameters
    ----------
    clicks : float64 array
        Clicks of each pair.
    looks : float64 array
        Sum of the propensities of the showings of each pair.
    mean : float
        Clicks of all pairs over looks of all pairs, above 0.
    """
    return (clicks + 1) / (looks + 1 / mean)
