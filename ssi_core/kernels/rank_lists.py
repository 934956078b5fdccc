"""Lists of documents by falling scores, and LETOR's measures of them.

The rows of list i are ``start[i]:start[i + 1]``; ``order`` has the rows of each list, the best one
first, so that ``order[start[i]]`` is the first document of list i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit

Reals = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


@jit
def sort_lists(scores: Reals, start: Rows, order: Rows) -> None:
    """Bring each list into the order of falling scores, equal scores by ascending row.

    Insertion into the order that is there: linear where it is nearly right.

    Parameters
    ----------
    scores : float64 (rows,)
        No NaN.
    start : int64 (lists + 1,)
    order : int64 (rows,)
        Overwritten; holds the rows of each list in any order.
    """
    for i in range(start.shape[0] - 1):
        first = start[i]
        for here in range(first + 1, start[i + 1]):
            row = order[here]
            score, place = scores[row], here
            while place > first:
                other = order[place - 1]
                if scores[other] > score or (scores[other] == score and other < row):
                    break
                order[place] = other
                place -= 1
            order[place] = row


@jit
def average_precisions(order: Rows, start: Rows, relevant: Flags, values: Reals) -> None:
    """Write the average precision of each list; 0 where no document is relevant.

    ``(1 / R) sum_r P@r`` over the ranks r of the R relevant documents.
    """
    for i in range(start.shape[0] - 1):
        hits, total = 0, 0.0
        for place in range(start[i], start[i + 1]):
            if relevant[order[place]]:
                hits += 1
                total += hits / (place - start[i] + 1)
        values[i] = total / hits if hits else 0.0


@jit
def precisions_at(order: Rows, start: Rows, relevant: Flags, k: int, values: Reals) -> None:
    """Write the share of relevant documents among the first k; missing ones are not relevant."""
    for i in range(start.shape[0] - 1):
        hits = 0
        for place in range(start[i], min(start[i + 1], start[i] + k)):
            hits += relevant[order[place]]
        values[i] = hits / k


@jit
def gains_at(order: Rows, start: Rows, gain: Reals, ideal: Reals, k: int, values: Reals) -> None:
    """Write LETOR's NDCG at rank k; 0 where a list is shorter than k, or has no gain.

    Parameters
    ----------
    order, start : Rows
        See the module.
    gain : float64 (rows,)
        ``2^grade - 1``.
    ideal : float64 (rows,)
        Best discounted gain down to each place of a list.
    k : int
        Rank, from 1.
    values : float64 (lists,)
        Written.
    """
    for i in range(start.shape[0] - 1):
        first = start[i]
        values[i] = 0.0
        if start[i + 1] - first < k or ideal[first] == 0:
            continue
        total = 0.0
        for place in range(first, first + k):
            rank = place - first + 1
            total += gain[order[place]] / (np.log2(rank) if rank > 2 else 1.0)
        values[i] = total / ideal[first + k - 1]


@jit
def mean_gains(order: Rows, start: Rows, gain: Reals, ideal: Reals, values: Reals) -> None:
    """Write the mean of LETOR's NDCG over all ranks of each list; arguments as of `gains_at`."""
    for i in range(start.shape[0] - 1):
        first = start[i]
        values[i] = 0.0
        if ideal[first] == 0:
            continue
        total, mean = 0.0, 0.0
        for place in range(first, start[i + 1]):
            rank = place - first + 1
            total += gain[order[place]] / (np.log2(rank) if rank > 2 else 1.0)
            mean += total / ideal[place]
        values[i] = mean / (start[i + 1] - first)
