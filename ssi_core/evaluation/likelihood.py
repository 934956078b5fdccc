"""Scores that are logarithms of sums: ``f(q, d) = sum_i q_i ln(1 + d_i + <topics_i, dense_d>)``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from ssi_core.evaluation.half import wide
from ssi_core.types import Float32, Int32, TextMatrix, Vectors

_BYTES = 64 << 20
"""Of the inner sums that are held at once, 4 bytes for a word and a document."""


def likelihoods(queries: Vectors, documents: Vectors, words: sparse.csc_array | None) -> Float32:
    """Return the scores of all queries with all documents, float32 (m, n).

    Parameters
    ----------
    queries, documents : Vectors
        Queries with ``topics``.
    words : CSC or None
        The sparse part of the documents, by column.
    """
    counts, topics, weights = parts(queries, documents)
    n, weights = len(weights), wide(weights)
    scores = np.zeros((counts.shape[0], n), np.float32)
    known = np.unique(counts.indices)
    by_word = sparse.csc_array(counts)
    for some in _few(known, n):
        inner = topics[some] @ weights.T
        if words is not None:
            inner += words[:, some].T.toarray()
        np.log1p(inner, out=inner)
        scores += by_word[:, some] @ inner
    return scores


def parts(queries: Vectors, documents: Vectors) -> tuple[TextMatrix, Float32, Float32]:
    """Return counts of the queries, topics of the words, and topic weights of the documents.

    Raises
    ------
    ValueError
        A part is missing, or its width is another one.
    """
    counts, topics, weights = queries.sparse, queries.topics, documents.dense
    if counts is None or topics is None or weights is None:
        raise ValueError("queries need sparse rows and topics, and documents dense rows")
    if topics.shape != (counts.shape[1], weights.shape[1]):
        expected = (counts.shape[1], weights.shape[1])
        raise ValueError(f"topics: shape {topics.shape}, expected {expected}")
    if documents.sparse is not None and documents.sparse.shape[1] != counts.shape[1]:
        came = documents.sparse.shape[1]
        raise ValueError(f"documents: sparse width {came}, expected {counts.shape[1]}")
    return counts, topics, weights


def _few(words: Int32, documents: int) -> Iterator[Int32]:
    """Words whose inner sums with all documents can be held."""
    size = max(1, _BYTES // (4 * max(1, documents)))
    return (words[start : start + size] for start in range(0, len(words), size))
