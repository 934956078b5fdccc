"""Lists of documents by falling scores, and LETOR's measures of them.

The rows of list i are ``start[i]:start[i + 1]``; ``order`` has the rows of each list, the best one
first, so that ``order[start[i]]`` is the first document of list i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit
from ssi_core.kernels.ranking.best import insert

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
        The rows of list i are ``start[i]:start[i + 1]``.
    order : int64 (rows,)
        Overwritten; holds the rows of each list in any order.
    """
    for i in range(start.shape[0] - 1):
        first = start[i]
        for here in range(first + 1, start[i + 1]):
            row = order[here]
            score, position = scores[row], here
            while position > first:
                other = order[position - 1]
                if scores[other] > score or (scores[other] == score and other < row):
                    break
                order[position] = other
                position -= 1
            order[position] = row


@jit
def average_precisions(order: Rows, start: Rows, relevant: Flags, values: Reals) -> None:
    """Write the average precision of each list; 0 where no document is relevant.

    ``(1 / R) sum_r P@r`` over the ranks r of the R relevant documents.
    """
    for i in range(start.shape[0] - 1):
        hits, total = 0, 0.0
        for position in range(start[i], start[i + 1]):
            if relevant[order[position]]:
                hits += 1
                total += hits / (position - start[i] + 1)
        values[i] = total / hits if hits else 0.0


@jit
def precisions_at(order: Rows, start: Rows, relevant: Flags, k: int, values: Reals) -> None:
    """Write the share of relevant documents among the first k; missing ones are not relevant."""
    for i in range(start.shape[0] - 1):
        hits = 0
        for position in range(start[i], min(start[i + 1], start[i] + k)):
            hits += relevant[order[position]]
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
        for position in range(first, first + k):
            rank = position - first + 1
            total += gain[order[position]] / (np.log2(rank) if rank > 2 else 1.0)
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
        for position in range(first, start[i + 1]):
            rank = position - first + 1
            total += gain[order[position]] / (np.log2(rank) if rank > 2 else 1.0)
            mean += total / ideal[position]
        values[i] = mean / (start[i + 1] - first)


@jit
def try_steps(
    scores: Reals,
    column: Reals,
    steps: Reals,
    start: Rows,
    gain: Reals,
    ideal: Reals,
    discount: Reals,
    best: Reals,
    row_of: Rows,
    values: Reals,
) -> None:
    """Write the sum of LETOR's NDCG@k over all lists, for each step that a weight may take.

    List by list, the k largest of ``scores + step * column`` are held in order, equal ones by
    ascending row; nothing is sorted. O(steps x rows) time where few documents enter.

    Parameters
    ----------
    scores, column : float64 (rows,)
        Scores without a step, and the feature whose weight takes it.
    steps : float64 (steps,)
        Changes of the weight.
    start, gain, ideal : array
        As of `gains_at`.
    discount : float64 (k,)
        What the gain of each of the k ranks is divided by.
    best, row_of : float64 and int64 (k,)
        Room for the k largest.
    values : float64 (steps,)
        Written.
    """
    k = best.shape[0]
    for s in range(steps.shape[0]):
        step, total = steps[s], 0.0
        for i in range(start.shape[0] - 1):
            first, last = start[i], start[i + 1]
            if last - first < k or ideal[first] == 0:
                continue
            best[:] = -np.inf
            for row in range(first, last):
                score = scores[row] + step * column[row]
                if score > best[k - 1]:
                    insert(row_of, best, row, score)
            value = 0.0
            for position in range(k):
                if gain[row_of[position]] > 0:
                    value += gain[row_of[position]] / discount[position]
            total += value / ideal[first + k - 1]
        values[s] = total
