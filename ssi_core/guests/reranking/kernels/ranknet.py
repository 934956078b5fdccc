"""RankNet: gradients of lists, and a round of steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_making

Reals = NDArray[np.float64]
Rows = NDArray[np.int64]


@jit
def ranknet_list(
    values: Reals,
    first: int,
    last: int,
    better: Rows,
    worse: Rows,
    weights: Reals,
    shift: Reals,
    output: Reals,
    hidden: Reals,
    scores: Reals,
    slope: Reals,
    to_weights: Reals,
    to_shift: Reals,
    to_output: Reals,
) -> float:
    """Add the gradient of the pairs of one list, and return their cross entropy.

    ``s = v . sigma(W x + b)``; a pair (i, j) of which i is better costs ``ln(1 + exp(s_j - s_i))``
    (Burges et al. 2005). The slopes of the scores are summed first, so that a row goes back through
    the net once, however many pairs have it.

    Parameters
    ----------
    values : float64 (rows, features)
        Input of the net.
    first, last : int
        The rows of the list.
    better, worse : int64 (pairs,)
        Rows of the pairs of this list.
    weights : float64 (units, features)
        W.
    shift, output : float64 (units,)
        b and v.
    hidden : float64 (rows, units)
        Room to work in, as the next two.
    scores, slope : float64 (rows,)
        Output of the net, and its gradient.
    to_weights, to_shift, to_output : Reals
        Gradients, added to.
    """
    units, features = weights.shape
    for row in range(first, last):
        score = 0.0
        for h in range(units):
            z = shift[h]
            for f in range(features):
                z += weights[h, f] * values[row, f]
            # 1 / (1 + exp(-z)) without overflow.
            hidden[row, h] = 0.5 * (1 + np.tanh(0.5 * z))
            score += output[h] * hidden[row, h]
        scores[row], slope[row] = score, 0.0
    loss = 0.0
    for n in range(better.shape[0]):
        apart = scores[better[n]] - scores[worse[n]]
        # ln(1 + exp(-x)) without overflow.
        loss += np.log1p(np.exp(-abs(apart))) + max(0.0, -apart)
        pull = 1 / (1 + np.exp(apart)) if apart < 700 else 0.0
        slope[better[n]] -= pull
        slope[worse[n]] += pull
    for row in range(first, last):
        if slope[row] == 0:
            continue
        for h in range(units):
            active = hidden[row, h]
            to_output[h] += slope[row] * active
            back = slope[row] * output[h] * active * (1 - active)
            to_shift[h] += back
            for f in range(features):
                to_weights[h, f] += back * values[row, f]
    return loss


@jit_making
def ranknet_round(
    values: Reals,
    start: Rows,
    pair_start: Rows,
    better: Rows,
    worse: Rows,
    lists: Rows,
    rate: float,
    weights: Reals,
    shift: Reals,
    output: Reals,
) -> float:
    """Step down the gradient of each list in turn; return the sum of their costs before the steps.

    With a rate of 0 nothing moves, and what comes back is the cross entropy of the net.
    """
    rows, units = values.shape[0], output.shape[0]
    hidden, scores, slope = np.empty((rows, units)), np.empty(rows), np.empty(rows)
    to_weights, to_shift = np.empty(weights.shape), np.empty(units)
    to_output = np.empty(units)
    total = 0.0
    for i in lists:
        one, end = pair_start[i], pair_start[i + 1]
        if one == end:
            continue
        to_weights[:], to_shift[:], to_output[:] = 0, 0, 0
        total += ranknet_list(
            values,
            start[i],
            start[i + 1],
            better[one:end],
            worse[one:end],
            weights,
            shift,
            output,
            hidden,
            scores,
            slope,
            to_weights,
            to_shift,
            to_output,
        )
        for h in range(units):
            shift[h] -= rate * to_shift[h]
            output[h] -= rate * to_output[h]
            for f in range(weights.shape[1]):
                weights[h, f] -= rate * to_weights[h, f]
    return total
