"""Hubness of labelled texts in spaces of fewer and fewer features: words, or dimensions of LSI.

The experiment of M. Radovanovic, A. Nanopoulos, M. Ivanovic, Hubness in the context of feature
selection and generation (Workshop on Feature Generation and Selection for Information Retrieval
2010), figure 1: ``S_Nk`` and the ratio of ``BN_k`` over the share of features that information gain
selects. Theirs are sets of the UCI repository, ours texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from ssi_core.evaluation.hubs import hubs
from ssi_core.guests.codes.labelled import LabelledTexts
from ssi_core.guests.codes.projections import leading
from ssi_core.guests.codes.words import Words
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import Float64, Int32, Int64, Progress


def information_gain(rows: sparse.csr_array, labels: Int32) -> Float64:
    """Return the information gain in bits of each column, present or not, about the label.

    ``IG(w) = H(c) - P(w) H(c | w) - P(not w) H(c | not w)``

    Parameters
    ----------
    rows : CSR (n, D)
        A column is present in a row where it is stored.
    labels : int32 (n,)
        Class of each row.
    """
    classes = np.eye(int(labels.max()) + 1)[labels]
    present = sparse.csr_array((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
    with_word: Any = present.T @ classes
    totals, n = classes.sum(axis=0), len(labels)
    share = with_word.sum(axis=1) / n
    inside, outside = _entropy(with_word), _entropy(totals - with_word)
    gain: Float64 = _entropy(totals[None])[0] - share * inside - (1 - share) * outside
    return gain


def hub_curves(
    texts: LabelledTexts,
    *,
    shares: Sequence[float] = (0.003, 0.01, 0.03, 0.1, 0.3),
    dimensions: Sequence[int] = (2, 5, 10, 20, 50, 100),
    k: int = 10,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Count the hubs of the training texts by the cosine, in each of the spaces.

    Parameters
    ----------
    texts : LabelledTexts
        Texts with classes.
    shares : sequence of float
        Shares of the words that are kept, those of the largest information gain.
    dimensions : sequence of int
        Dimensions of LSI.
    k : int
        Neighbours of a text.
    progress : Progress, optional
        Told the share that is done.

    Returns
    -------
    dict
        JSON values: the collection, and for each space its features, the texts that have some,
        ``S_Nk`` and the ratio of ``BN_k``.
    """
    words = Words.of(texts.train.texts)
    rows, labels = words.rows(texts.train.texts), texts.train.labels
    gain = np.argsort(-information_gain(rows, labels), kind="stable")
    spaces: list[tuple[str, int]] = [("words", len(words.stems))]
    spaces += [("words", max(1, round(share * len(gain)))) for share in sorted(shares)[::-1]]
    spaces += [("LSI", one) for one in sorted(dimensions)[::-1]]
    small = rows.toarray() if min(rows.shape) <= 512 else None
    _, basis = leading(
        aslinearoperator(rows), small, max(dimensions, default=1), np.random.default_rng(0)
    )
    measured = []
    for number, (space, features) in enumerate(spaces):
        if progress is not None:
            progress(number / len(spaces), f"{space} {features}")
        vectors = _chosen(rows, gain[:features])
        if space == "LSI":
            vectors = Inner(None, (rows @ basis[:, :features]).astype(np.float32))
        one = hubs(vectors, k=k, labels=labels)
        measured.append(
            {
                "space": space,
                "features": features,
                "texts": one.points,
                "skewness": one.skewness,
                "bad_ratio": one.bad_ratio,
            }
        )
    return {
        "collection": texts.name,
        "classes": len(texts.classes),
        "train": len(texts.train),
        "k": k,
        "rows": measured,
    }


def _chosen(rows: sparse.csr_array, columns: Int64) -> Vectors:
    some: Any = rows[:, np.sort(columns)]
    return Inner(sparse.csr_array(some).astype(np.float32), None)


def _entropy(counts: Float64) -> Float64:
    """Return the entropy in bits of each row of counts; 0 of an empty one."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logarithms = np.log2(np.where(shares > 0, shares, 1.0))
    bits: Float64 = -(shares * logarithms).sum(axis=1)
    return bits
