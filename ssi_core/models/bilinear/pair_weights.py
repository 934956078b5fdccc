"""``W`` with a weight for each pair of words: made, kept, pruned, and met with queries.

As an array of a fitted model it is "W", float32 (words of queries, words of documents) or (H,), or
the CSR matrix "W_indptr", "W_indices", "W_data".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.estimator import Arrays
from ssi_core.kernels.sparse import Csr, csr
from ssi_core.kernels.training import pair_forms
from ssi_core.resources import amount, memory_available, require
from ssi_core.types import Float32, Refused, TextMatrix


def dense_weights(shape: tuple[int, int], *, identity: bool) -> Float32:
    """Make a dense W, zero or the identity, after a look at the memory.

    Raises
    ------
    Refused
        W and the copy of the best one so far do not fit; the message says how many words would.
    """
    takes, free = 2 * 4 * shape[0] * shape[1], memory_available()
    if takes > free:
        words = int((free / 8) ** 0.5)
        raise Refused(
            f"training: a dense W of {shape[0]} x {shape[1]} words takes {amount(takes)} of memory "
            f"(itself, and the best one so far), and {amount(free)} are free. {words} words would "
            f"fit: make the task with as many, or let W read them alone (view = "
            f'"sublinear:100@{words}"). A hashed or a low-rank W fits with any number of words.'
        )
    require("training", memory=takes)
    W = np.zeros(shape, np.float32)
    if identity:
        np.fill_diagonal(W, 1)
    return W


def hashed_weights(buckets: int) -> Float32:
    """Make a hashed W of zeros, after a look at the memory."""
    require("training", memory=2 * 4 * buckets, remedy="Give fewer buckets.")
    return np.zeros(buckets, np.float32)


def hash_facts(rows: int, words: int, buckets: int) -> dict[str, float]:
    """Say how rows x words pairs of words meet in H buckets.

    Returns
    -------
    dict
        ``used_buckets``, ``largest_load`` (pairs of the fullest bucket), ``collision_rate`` (share
        of the pairs that are not alone in their bucket).
    """
    loads = pair_forms.loads(rows, words, buckets)
    alone = int(np.count_nonzero(loads == 1))
    return {
        "used_buckets": int(np.count_nonzero(loads)),
        "largest_load": int(loads.max()),
        "collision_rate": 1 - alone / max(1, rows * words),
    }


# --- Algorithm 2 ---------------------------------------------------------------------------------


def prune(W: Float32 | Csr, entries: int) -> Csr:
    """Keep half of the non-zero weights of each row, the largest ``|W_ij|``, and at least ``p``.

    Algorithm 2 of the journal paper leaves open how many weights a round takes away. A row that
    has no more than p non-zero ones keeps them; of equal ones the first are kept.

    Returns
    -------
    `Csr` with writable data
    """
    starts, columns, values = [0], [], []
    for column, row in _rows(W):
        size = np.abs(row)
        kept = max(entries, len(row) // 2)
        if kept < len(row):
            least = np.partition(size, -kept)[-kept]
            chosen = size > least
            chosen[np.flatnonzero(size == least)[: kept - np.count_nonzero(chosen)]] = True
            column, row = column[chosen], row[chosen]
        columns.append(column.astype(np.int32))
        values.append(row)
        starts.append(starts[-1] + len(row))
    return Csr(np.array(starts, np.int64), np.concatenate(columns), np.concatenate(values))


def longest(W: Csr) -> int:
    """Weights of the row that has most."""
    return int(np.diff(W.indptr).max(initial=0))


def _rows(W: Float32 | Csr) -> Any:
    """Columns and values of the non-zero weights of each row."""
    if isinstance(W, Csr):
        for first, last in zip(W.indptr[:-1], W.indptr[1:], strict=True):
            used = np.flatnonzero(W.data[first:last])
            yield W.indices[first:last][used], W.data[first:last][used]
    else:
        for row in W:
            used = np.flatnonzero(row)
            yield used, row[used]


# --- kept arrays ---------------------------------------------------------------------------------


def kept(W: Float32 | Csr) -> dict[str, Any]:
    """Arrays of a fitted model; what is dense is not copied."""
    if isinstance(W, Csr):
        return {"W_indptr": W.indptr, "W_indices": W.indices, "W_data": np.array(W.data)}
    return {"W": W}


def csr_of(arrays: Arrays, columns: int) -> TextMatrix:
    """Return the sparse W of a fitted model."""
    parts = (arrays["W_data"], arrays["W_indices"], arrays["W_indptr"])
    return sparse.csr_array(parts, shape=(len(parts[2]) - 1, columns))


@dataclass(frozen=True)
class PairWeights:
    """Queries to rows over the words of documents: ``v = [diag q, q' W]`` (`types.Through`).

    Documents are ``[d of the diagonal's view, d of W's view]``, so that ``v . d`` is the score.

    Attributes
    ----------
    arrays : Arrays
        Of the fitted model.
    first : int
        Columns that the diagonal's part takes, 0 without a diagonal.
    words : int
        Words of documents that W knows.
    """

    arrays: Arrays
    first: int
    words: int

    @property
    def width(self) -> int:
        """Columns of a row."""
        return self.first + self.words

    def __call__(self, rows: TextMatrix) -> TextMatrix:
        """Meet some queries with W; the rows may be full: 12 bytes for each word."""
        met = self.meet(rows[:, self.first :] if self.first else rows)
        if self.first == 0:
            return met
        both: TextMatrix = sparse.hstack([rows[:, : self.first], met], format="csr")
        return both

    def meet(self, queries: TextMatrix) -> TextMatrix:
        """``q' W`` of rows of W's view."""
        if "W_data" in self.arrays:
            met: TextMatrix = queries @ csr_of(self.arrays, self.words)
            met.sort_indices()
            return met
        W = self.arrays["W"]
        if W.ndim == 2:
            return _full(queries @ W)
        rows = np.zeros((queries.shape[0], self.words), np.float32)
        pair_forms.hashed_rows(W, csr(queries), rows)
        return _full(rows)


def _full(rows: Float32) -> TextMatrix:
    """Dense rows as CSR, zeros and all."""
    n, width = rows.shape
    columns = np.tile(np.arange(width, dtype=np.int32), n)
    starts = np.arange(n + 1, dtype=np.int64) * width
    values = np.asarray(rows, np.float32).ravel()
    return sparse.csr_array((values, columns, starts), shape=(n, width))


# --- warm start ----------------------------------------------------------------------------------


def carried_over(arrays: Arrays, rows: Any, columns: Any, shape: tuple[int, int]) -> Csr:
    """Return the weights of a fitted sparse or dense W under the numbers of other vocabularies.

    Parameters
    ----------
    rows, columns : object
        (old, new) numbers of the words that both vocabularies have, on either side.
    shape : tuple of int
        Words of queries, words of documents.
    """
    if "W_data" in arrays:
        last = max(columns[0].max(initial=-1), arrays["W_indices"].max(initial=-1))
        old = csr_of(arrays, int(last) + 1)
    else:
        old = sparse.csr_array(arrays["W"])
    new = old[rows[0]][:, columns[0]].tocoo()
    cells = (rows[1][new.coords[0]], columns[1][new.coords[1]])
    carried = sparse.csr_array((new.data, cells), shape=shape)
    carried.sort_indices()
    return Csr(carried.indptr.astype(np.int64), carried.indices.astype(np.int32), carried.data)
