"""Hard negatives: documents d- from the head of a first order, which random ones seldom reach.

The first order is that of the diagonal before it learns. Only training pairs are left out of it, as
they are of every draw: to leave out held-out ones would tell which these are. So a document that
is right, and that no training pair names, is drawn oftener than at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.evaluation.candidates import BLOCK_BYTES
from ssi_core.kernels.sparse import Csr, read_only
from ssi_core.kernels.training.structs import Data
from ssi_core.kernels.training.sweep import SHARES
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Inner
from ssi_core.types import Int32, Int64


def with_hard(data: Data, words: int, *, depth: int, threads: int = 1) -> Data:
    """Return the data of a training with the documents that `sweep.draw_hard` draws from.

    Parameters
    ----------
    data : Data
        Its rows of the diagonal's view give the order, ``sum_i q_i d_i``.
    words : int
        Width of that view.
    depth : int
        Documents of a query, at most; those that share no word with it are none of them.
    threads : int
        See `Scorer`.
    """
    queries = _matrix(data.diagonal_queries, words)
    scorer = Scorer(Inner(_matrix(data.diagonal_documents, words)), threads=threads)
    asked = np.unique(data.pairs[:, 0])
    counts = np.zeros(queries.shape[0], np.int64)
    lists = []
    for rows in _blocks(asked, data.barred_indptr, depth):
        barred = [data.barred_indices[slice(*data.barred_indptr[q : q + 2])] for q in rows]
        most = min(scorer.documents, depth + max(map(len, barred)))
        best, scores = scorer.best(Inner(queries[rows]), most)
        for q, never, found, score in zip(rows, barred, best, scores, strict=True):
            kept = found[(score > 0) & ~np.isin(found, never)][:depth]
            counts[q] = len(kept)
            lists.append(kept)
    shown = np.concatenate(lists) if lists else np.empty(0, np.int32)
    start = np.concatenate([[0], np.cumsum(counts)])
    return data._replace(
        shown_indptr=read_only(start.astype(np.int64)), shown=read_only(shown.astype(np.int32))
    )


def with_share(data: Data, share: float) -> Data:
    """Return the data with the share of draws that are from the lists of `with_hard`."""
    return data._replace(share=read_only(np.array([round(share * SHARES)], np.int64)))


def memory_of_lists(queries: int, depth: int) -> int:
    """Return the bytes of lists, and of a block of the ranking that makes them."""
    return 8 * queries * depth + BLOCK_BYTES


def _matrix(rows: Csr, words: int) -> Any:
    shape = (len(rows.indptr) - 1, words)
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=shape)


def _blocks(asked: Int32, barred: Int64, depth: int) -> Iterator[Int32]:
    """Yield queries in blocks whose rankings fill at most `BLOCK_BYTES`."""
    most = depth + int(np.diff(barred).max(initial=0))
    size = max(1, BLOCK_BYTES // (8 * most))
    for first in range(0, len(asked), size):
        yield asked[first : first + size]
