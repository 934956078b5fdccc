"""The k best of a row of scores, without sorting the row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, part


@part
def insert(
    column: NDArray[np.int32], value: NDArray[np.float32], c: int, score: np.float32
) -> None:
    """Put a score that is above the last of a sorted list into it, behind those equal to it."""
    place = len(value) - 1
    while place > 0 and value[place - 1] < score:
        value[place] = value[place - 1]
        column[place] = column[place - 1]
        place -= 1
    value[place] = score
    column[place] = c


@jit
def top_k(
    scores: NDArray[np.float32], best: NDArray[np.int32], best_score: NDArray[np.float32]
) -> None:
    """Write the columns of the ``best.shape[1]`` largest scores of each row, the largest first.

    Equal scores come by ascending column. ``-inf`` and NaN are no candidates; where a row has fewer
    candidates than places, the rest are column -1 and score ``-inf``. Insertion into a short sorted
    list: O(columns + k^2 log(columns / k)) a row when the order of scores is random.

    Parameters
    ----------
    scores : float32 (rows, columns)
        Scores to choose from.
    best : int32 (rows, k)
        Written.
    best_score : float32 (rows, k)
        Written.
    """
    k = best.shape[1]
    for i in range(scores.shape[0]):
        column, value = best[i], best_score[i]
        column[:] = -1
        value[:] = -np.inf
        if k == 0:
            continue
        for c in range(scores.shape[1]):
            score = scores[i, c]
            if score > value[k - 1]:
                insert(column, value, c, score)


@jit
def best_again(
    query: NDArray[np.float32],
    documents: NDArray[np.float32],
    rows: NDArray[np.int32],
    scores: NDArray[np.float32],
    chosen: NDArray[np.int32],
    best: NDArray[np.float32],
) -> None:
    """Write the best of some documents by ``score + <query, document>``, the largest first.

    Inner products are added up in float64, so that they are the same in any order. Equal scores
    come by ascending row.

    Parameters
    ----------
    query : float32 (dimensions,)
        Dense part of the query.
    documents : float32 (candidates, dimensions)
        Dense parts of the candidates.
    rows : int32 (candidates,)
        What the documents are called; -1 is none of them.
    scores : float32 (candidates,)
        Sparse part of each candidate's score.
    chosen, best : int32, float32 (k,)
        Written: rows and scores, -1 and ``-inf`` where there are fewer.
    """
    chosen[:] = -1
    best[:] = -np.inf
    for c in range(len(rows)):
        if rows[c] < 0:
            continue
        total = 0.0
        for r in range(len(query)):
            total += np.float64(query[r]) * np.float64(documents[c, r])
        score = scores[c] + np.float32(total)
        place = len(best)
        while place > 0 and (
            best[place - 1] < score or (best[place - 1] == score and chosen[place - 1] > rows[c])
        ):
            if place < len(best):
                best[place], chosen[place] = best[place - 1], chosen[place - 1]
            place -= 1
        if place < len(best):
            best[place], chosen[place] = score, rows[c]
