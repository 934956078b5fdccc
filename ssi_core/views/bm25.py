"""BM25 as a view whose two sides differ: a query's words are counted, a document's saturate.

The inner product of the two rows is BM25 as a share of the most that a query can get::

    sum_i q_i w_i(d) / z(q),   w_i(d) = idf_i (k1 + 1) d_i / (k1 (1 - b + b L(d)) + d_i)
    z(q) = (k1 + 1) sum_i q_i idf_i,   idf_i = ln(1 + (n - df_i + 0.5) / (df_i + 0.5))

with counts q_i and d_i, and L(d) the length of the document over the mean length, in words of the
vocabulary (Robertson and Zaragoza 2009, with the idf of Lucene, which is never negative). z(q) does
not depend on the documents: it orders nothing anew, brings queries of three words and of three
thousand to one scale, 0 to 1, and stays when documents are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.arrays import with_data
from ssi_core.types import Float64, TextMatrix
from ssi_core.views.statistics import Statistics


def document_rows(counts: TextMatrix, statistics: Statistics, k1: float, b: float) -> TextMatrix:
    """Weigh documents: ``w_i(d)``, float32, computed in float64."""
    floor = k1 * (1 - b + b * sums(counts, counts.data) / statistics.mean_length)
    tf = counts.data.astype(np.float64)
    weights = statistics.bm25_idf[counts.indices] * (k1 + 1) * tf
    weights /= np.repeat(floor, np.diff(counts.indptr)) + tf
    return with_weights(counts, weights)


def query_rows(counts: TextMatrix, statistics: Statistics, k1: float) -> TextMatrix:
    """Weigh queries: ``q_i / z(q)``, float32, computed in float64."""
    z = sums(counts, counts.data * most(statistics, k1)[counts.indices])
    return with_weights(counts, counts.data / np.repeat(z, np.diff(counts.indptr)))


def most(statistics: Statistics, k1: float) -> Float64:
    """Return the weight of each word that a document comes near to, float64 (words,)."""
    return (k1 + 1) * statistics.bm25_idf


def sums(rows: TextMatrix, values: Any) -> Float64:
    """Add up the values of each row's entries, float64 (n,); 0 of an empty one."""
    ends = np.append(np.asarray(values, np.float64), 0.0)
    total: Float64 = np.add.reduceat(ends, rows.indptr[:-1])
    total[np.diff(rows.indptr) == 0] = 0
    return total


def scaled(rows: TextMatrix, scale: Float64) -> TextMatrix:
    """Return rows times a number each, CSR float64."""
    data = rows.data * np.repeat(scale, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def with_weights(rows: TextMatrix, weights: Float64) -> TextMatrix:
    """Return rows with other weights of their words, rounded to float32."""
    return with_data(rows, weights.astype(np.float32))
