"""A linear SVM that says whether a feed is on a topic, from the scores of some elements.

Most feeds have no word of a topic: their features are all 0, and so alike. Such rows are one row
with a weight, of which the SVM is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.extras import module
from ssi_core.types import Float64, Int64

Flags = NDArray[np.bool_]


def train(rows: sparse.csr_array, relevant: Flags, blank: tuple[int, int], C: float) -> Any:
    """Fit the SVM: squared hinge, C for each row, a bias.

    Parameters
    ----------
    rows : CSR (n, columns)
        Features that are not all 0.
    relevant : bool (n,)
        Whether each pair of feed and topic belongs together.
    blank : tuple
        Number of irrelevant and of relevant pairs whose features are all 0.
    C : float
        Weight of each pair's loss.
    """
    zeros = sparse.csr_array((2, rows.shape[1]))
    joined = sparse.csr_array(sparse.vstack([rows, zeros], format="csr"))
    weight = np.concatenate([np.ones(rows.shape[0]), np.asarray(blank, np.float64)])
    labels = np.concatenate([relevant, [False, True]])
    machine = module("sklearn.svm", "sklearn").LinearSVC(C=C, dual=False, tol=1e-4, max_iter=10_000)
    kept = np.flatnonzero(weight)
    chosen = joined[kept]
    parts = chosen.data, chosen.indices.astype(np.int32), chosen.indptr.astype(np.int32)
    narrow = sparse.csr_array(parts, shape=chosen.shape)
    return machine.fit(narrow, labels[kept], sample_weight=weight[kept])


def decide(machine: Any, rows: sparse.csr_array) -> tuple[Flags, bool]:
    """Return whether each row is judged relevant, and whether a row of zeros is."""
    bias = float(machine.intercept_[0])
    values: Float64 = rows @ machine.coef_[0] + bias
    return values > 0, bias > 0


def counts_of(judged: Flags, relevant: Flags, topics: Int64, size: int) -> NDArray[np.float64]:
    """Count true and false positives of each topic, float64 (2, topics)."""
    return np.stack(
        [
            np.bincount(topics[judged & relevant], minlength=size),
            np.bincount(topics[judged & ~relevant], minlength=size),
        ]
    ).astype(np.float64)


def measures(
    right: Float64 | float, wrong: Float64 | float, relevant: Float64 | float
) -> tuple[Float64, Float64, Float64]:
    """Return precision, recall and F; 0 where nothing is judged relevant, or nothing is.

    Parameters
    ----------
    right, wrong : float64
        Feeds judged relevant that are, and that are not.
    relevant : float64
        Feeds that are relevant.
    """
    right, judged, total = (np.asarray(one, np.float64) for one in (right, right + wrong, relevant))

    def share(part: Float64, whole: Float64) -> Float64:
        return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)

    precision, recall = share(right, judged), share(right, total)
    return precision, recall, share(2 * right, judged + total)
