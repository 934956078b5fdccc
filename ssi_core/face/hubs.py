"""Hubs among vectors of texts, in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.evaluation import hubs as measured
from ssi_core.evaluation.hubs import Hubs, Similarity
from ssi_core.scoring.vectors import Inner
from ssi_core.types import BadInput


def hubs(
    vectors: Any,
    labels: Sequence[Any] | None = None,
    k: int = 10,
    similarity: Similarity = "cosine",
) -> Hubs:
    """Count how often each text is among the k nearest neighbours of another one.

    Parameters
    ----------
    vectors : numpy array or CSR (n, d)
        A row for each text, of an array or a sparse matrix; rows of zeros are left out.
    labels : sequence, optional
        Class of each text.
    k : int
        Neighbours of a text.
    similarity : Similarity
        "cosine" or "dot", the inner product.

    Returns
    -------
    Hubs
        ``skewness``, which is ``S_Nk``, ``bad_ratio``, which is that of ``BN_k``, and the counts.

    Raises
    ------
    BadInput
        There are too few texts, or not a label for each.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> circle = [[1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1]]
    >>> ssi.hubs(circle, k=2).skewness
    0.0
    >>> ssi.hubs(circle, labels=list("aaaabbbb"), k=2).bad_ratio
    0.25
    """
    is_sparse = sparse.issparse(vectors)
    given: Any = vectors
    matrix: Any = sparse.csr_array(given) if is_sparse else np.array(given)
    matrix = matrix.astype(np.float32)
    rows = Inner(matrix if is_sparse else None, None if is_sparse else matrix)
    classes = None
    if labels is not None:
        classes = np.unique(np.asarray(labels), return_inverse=True)[1]
        if len(classes) != matrix.shape[0]:
            raise BadInput(
                f"hubs: {matrix.shape[0]} vectors have {len(classes)} labels. Give one each."
            )
    return measured.hubs(rows, k=k, labels=classes, similarity=similarity)
