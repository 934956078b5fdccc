"""DICE coefficients of items against the most frequent words, one item at a time.

``DICE(i, j) = 2 cooc(i, j) / (df_i + df_j)``, all counted in documents. The F counts of one item
are all that is held of the product of the two matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_making

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]


@jit
def frequent_ends(indptr: Any, indices: Any, frequent: int, ends: Longs) -> None:
    """Write where the columns below ``frequent`` end in each row of a CSR with sorted columns."""
    for row in range(len(indptr) - 1):
        low, high = indptr[row], indptr[row + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < frequent:
                low = middle + 1
            else:
                high = middle
        ends[row] = low


@jit
def count_documents(indptr: Any, indices: Any, chosen: Mask, counts: Longs) -> None:
    """Add to ``counts[column]`` the chosen rows of a CSR that have the column."""
    for row in range(len(indptr) - 1):
        if chosen[row]:
            for t in range(indptr[row], indptr[row + 1]):
                counts[indices[t]] += 1


@jit
def gather_postings(
    indptr: Any, indices: Any, chosen: Mask, first: int, last: int, ends: Longs, postings: Ints
) -> None:
    """Write the chosen rows of the columns ``first:last`` of a CSR, ascending for each column.

    ``ends`` (last - first,): where each column's rows begin in ``postings``; afterwards where
    they end.
    """
    for row in range(len(indptr) - 1):
        if chosen[row]:
            for t in range(indptr[row], indptr[row + 1]):
                column = indices[t] - first
                if 0 <= column < last - first:
                    postings[ends[column]] = row
                    ends[column] += 1


@jit_making
def best_matches(
    starts: Longs,
    postings: Ints,
    begin: int,
    end: int,
    row_starts: Any,
    row_ends: Longs,
    columns: Any,
    frequency: Longs,
    own: int,
    counts: Ints,
    touched: Ints,
    bins: Ints,
    values: NDArray[np.float32],
) -> None:
    """Write the k frequent words of largest DICE for the items ``begin:end``.

    Fractions are compared exactly, as products of integers; equal ones come by ascending number.

    Parameters
    ----------
    starts, postings : Longs, Ints
        Documents of item i: ``postings[starts[i]:starts[i + 1]]``.
    row_starts, row_ends, columns : object, Longs, object
        Frequent words of a document.
    frequency : Longs
        (F,), documents of each frequent word.
    own : int
        Item i is itself word ``own + i``, which comes first where it is a frequent one; a number of
        F or more: no item is.
    counts, touched : Ints
        Scratch: (F,) zeros, zeros again afterwards; (F + 1,).
    bins, values : Ints, float32 array
        (items, k), written; -1 and 0 where fewer than k words are met.
    """
    k = bins.shape[1]
    frequent = frequency.shape[0]
    shared = np.empty(k, np.int64)
    size = np.empty(k, np.int64)
    for i in range(begin, end):
        documents = starts[i + 1] - starts[i]
        met = 0
        for p in range(starts[i], starts[i + 1]):
            d = postings[p]
            for t in range(row_starts[d], row_ends[d]):
                j = columns[t]
                touched[met] = j
                met += counts[j] == 0
                counts[j] += 1
        best = bins[i]
        best[:] = -1
        shared[:] = 0
        size[:] = 1
        fixed = 0
        if own + i < frequent and documents > 0:
            best[0], shared[0], size[0] = own + i, documents, 2 * documents
            fixed = 1
        for m in range(met):
            j = touched[m]
            c, s = np.int64(counts[j]), documents + frequency[j]
            counts[j] = 0
            here, least = c * size[k - 1], shared[k - 1] * s
            if here < least or (here == least and j > best[k - 1]) or (fixed and j == best[0]):
                continue
            position = k - 1
            while position > fixed:
                here, above = c * size[position - 1], shared[position - 1] * s
                if here < above or (here == above and j > best[position - 1]):
                    break
                best[position] = best[position - 1]
                shared[position], size[position] = shared[position - 1], size[position - 1]
                position -= 1
            if position >= fixed and position < k:
                best[position], shared[position], size[position] = j, c, s
        for p in range(k):
            values[i, p] = 2 * shared[p] / size[p]
