"""Estimate how often positions are looked at, and the relevance of pairs, from clicks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_making

Floats = NDArray[np.float64]


@jit_making
def fit_examination(
    shown: Floats,
    clicks: Floats,
    start: NDArray[np.int64],
    position: NDArray[np.int32],
    theta: Floats,
    rounds: int,
    close: float,
) -> int:
    """Go round the two equations of the position-based model until theta stands still.

    For pairs p and positions k, with the examination theta and the relevance gamma:
    ``theta_k = sum_p clicks_pk / sum_p shown_pk gamma_p`` and
    ``gamma_p = sum_k clicks_pk / sum_k shown_pk theta_k``. Theta is divided by that of the first
    position, unless nothing is clicked there. A position that shows nothing keeps its theta.

    Parameters
    ----------
    shown, clicks : float64 (cells,)
        Counts, the cells of a pair side by side.
    start : int64 (pairs + 1,)
        Where the cells of each pair begin.
    position : int32 (cells,)
        Index of theta of each cell.
    theta : float64 (positions,)
        Where to begin; written.
    rounds : int
        Rounds at most.
    close : float
        Largest change of a theta at the end.

    Returns
    -------
    int
        Rounds that were taken.
    """
    clicked, looked = np.zeros(len(theta)), np.zeros(len(theta))
    for i in range(len(position)):
        clicked[position[i]] += clicks[i]
    for done in range(rounds):
        looked[:] = 0
        for p in range(len(start) - 1):
            of_pair, looks = 0.0, 0.0
            for i in range(start[p], start[p + 1]):
                of_pair += clicks[i]
                looks += shown[i] * theta[position[i]]
            if of_pair == 0 or looks == 0:
                continue
            gamma = of_pair / looks
            for i in range(start[p], start[p + 1]):
                looked[position[i]] += shown[i] * gamma
        first = clicked[0] / looked[0] if clicked[0] > 0 and looked[0] > 0 else 1.0
        change = 0.0
        for k in range(len(theta)):
            new = (clicked[k] / looked[k] if looked[k] > 0 else theta[k]) / first
            change = max(change, abs(new - theta[k]))
            theta[k] = new
        if change < close:
            return done + 1
    return rounds


@jit
def count_rows(
    times: NDArray[np.int64],
    start: NDArray[np.int64],
    cell: NDArray[np.int32],
    clicked: NDArray[np.bool_],
    shown: Floats,
    clicks: Floats,
) -> None:
    """Add the rows of each session to their cells, as often as the session is drawn.

    Parameters
    ----------
    times : int64 (sessions,)
        How often each session is drawn.
    start : int64 (sessions + 1,)
        Where the rows of each session begin.
    cell : int32 (rows,)
        Cell of each row.
    clicked : bool (rows,)
        Whether the row was clicked.
    shown, clicks : float64 (cells,)
        Added to.
    """
    for s in range(len(times)):
        if times[s] == 0:
            continue
        for i in range(start[s], start[s + 1]):
            shown[cell[i]] += times[s]
            if clicked[i]:
                clicks[cell[i]] += times[s]


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
