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

import numpy as np
from scipy import sparse

from ssi_core.types import Float64, TextMatrix
from ssi_core.views.statistics import Statistics


def document_rows(counts: TextMatrix, statistics: Statistics, k1: float, b: float) -> TextMatrix:
    """Weigh documents: ``w_i(d)``, float32, computed in float64."""
    lengths = np.add.reduceat(np.append(counts.data, 0.0), counts.indptr[:-1], dtype=np.float64)
    lengths[np.diff(counts.indptr) == 0] = 0
    floor = k1 * (1 - b + b * lengths / statistics.mean_length)
    tf = counts.data.astype(np.float64)
    weights = statistics.bm25_idf[counts.indices] * (k1 + 1) * tf
    weights /= np.repeat(floor, np.diff(counts.indptr)) + tf
    return _with(counts, weights)


def query_rows(counts: TextMatrix, statistics: Statistics, k1: float) -> TextMatrix:
    """Weigh queries: ``q_i / z(q)``, float32, computed in float64."""
    most = counts.data * statistics.bm25_idf[counts.indices]
    z = (k1 + 1) * np.add.reduceat(np.append(most, 0.0), counts.indptr[:-1])
    lengths = np.diff(counts.indptr)
    z[lengths == 0] = 1
    return _with(counts, counts.data / np.repeat(z, lengths))


def _with(rows: TextMatrix, weights: Float64) -> TextMatrix:
    data = weights.astype(np.float32)
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
