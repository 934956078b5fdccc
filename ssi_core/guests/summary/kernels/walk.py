"""A random walk over sentences that a query biases, and the choice of sentences that differ.

Rows are CSR with ascending columns and values of 0 or more; the similarity of two rows is their
inner product, so that no matrix of all pairs is made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, part


@jit
def walk(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    bias: NDArray[np.float64],
    share: float,
    tolerance: float,
    most: int,
    mass: NDArray[np.float64],
    total: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> int:
    """Write the scores of the rows, and return the number of iterations.

    ``score_i <- share * bias_i + (1 - share) * sum_j sim(i, j) / sum_k sim(j, k) * score_j``,
    until no score changes by ``tolerance``. As ``sim(i, j) = z_i . z_j``, the sum over j is
    ``z_i . sum_j z_j score_j / total_j`` with ``total_j = z_j . sum_k z_k``: an iteration reads
    each entry twice.

    Parameters
    ----------
    indptr, indices, data : CSR (n, columns)
        Rows z.
    bias : float64 (n,)
        Of sum 1.
    share : float
        Weight of the bias.
    tolerance : float
        Largest change of a score in the last iteration.
    most : int
        Iterations at most.
    mass : float64 (columns,)
        Written.
    total : float64 (n,)
        Written.
    scores : float64 (n,)
        The first scores; written.
    """
    n = len(indptr) - 1
    mass[:] = 0.0
    for i in range(n):
        for entry in range(indptr[i], indptr[i + 1]):
            mass[indices[entry]] += data[entry]
    for i in range(n):
        total[i] = _product(indptr, indices, data, i, mass)
    for iteration in range(most):
        mass[:] = 0.0
        for i in range(n):
            if total[i] > 0.0:
                flow = scores[i] / total[i]
                for entry in range(indptr[i], indptr[i + 1]):
                    mass[indices[entry]] += data[entry] * flow
        largest = 0.0
        for i in range(n):
            score = share * bias[i] + (1.0 - share) * _product(indptr, indices, data, i, mass)
            largest = max(largest, abs(score - scores[i]))
            scores[i] = score
        if largest < tolerance:
            return iteration + 1
    return most


@part
def _product(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    row: int,
    dense: NDArray[np.float64],
) -> float:
    product = 0.0
    for entry in range(indptr[row], indptr[row + 1]):
        product += data[entry] * dense[indices[entry]]
    return product


@jit
def choose_apart(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    order: NDArray[np.int64],
    lengths: NDArray[np.int64],
    words: int,
    threshold: float,
    fitting: bool,
    chosen: NDArray[np.int64],
) -> int:
    """Write rows in turn that are not like one before, and return how many there are.

    Parameters
    ----------
    indptr, indices, data : CSR (n, columns)
        Rows whose inner product with every chosen row must be below ``threshold``.
    order : int64 (m,)
        Candidates, the best first.
    lengths : int64 (n,)
        Words of each row.
    words : int
        Words to be had.
    threshold : float
        Similarity from which two rows count as alike.
    fitting : bool
        True: a row that has more words than are left is passed over; False: the first row with
        which the words are reached is the last one.
    chosen : int64 (m,)
        Written.
    """
    count, taken = 0, 0
    for candidate in order:
        if taken >= words:
            break
        if fitting and taken + lengths[candidate] > words:
            continue
        apart = True
        for other in range(count):
            if _alike(indptr, indices, data, candidate, chosen[other]) >= threshold:
                apart = False
                break
        if apart:
            chosen[count] = candidate
            count += 1
            taken += lengths[candidate]
    return count


@part
def _alike(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
    one: int,
    other: int,
) -> float:
    product = 0.0
    i, j = indptr[one], indptr[other]
    while i < indptr[one + 1] and j < indptr[other + 1]:
        if indices[i] == indices[j]:
            product += data[i] * data[j]
            i += 1
            j += 1
        elif indices[i] < indices[j]:
            i += 1
        else:
            j += 1
    return product
