"""A language model as a view whose two sides differ: a query's words are counted.

The inner product of the two rows is the logarithm of the likelihood of the query in the mixture of
a document with the collection (Zhai and Lafferty 2004, Jelinek-Mercer smoothing), without what does
not depend on the document, as a share of the most that a query can get::

    sum_i q_i w_i(d) / z(q),   w_i(d) = ln(1 + (1 - c) / c * d_i / (|d| p_i))
    z(q) = sum_i q_i most_i,   most_i = ln(1 + (1 - c) / (c p_i))

with counts q_i and d_i, ``|d|`` the length of the document in words of the vocabulary, p_i the
share of word i in all documents, and c the weight of the collection. A word weighs ``most_i`` in a
document that has no other word: so z(q) orders nothing anew, and brings queries of three words and
of three thousand to one scale, 0 to 1.
"""

from __future__ import annotations

import numpy as np

from ssi_core.types import Float64, TextMatrix
from ssi_core.views.bm25 import sums, with_weights
from ssi_core.views.statistics import Statistics


def document_rows(counts: TextMatrix, statistics: Statistics, c: float) -> TextMatrix:
    """Weigh documents: ``w_i(d)``, float32, computed in float64."""
    lengths = np.repeat(sums(counts, counts.data), np.diff(counts.indptr))
    odds = (1 - c) / c
    return with_weights(
        counts, np.log1p(odds * counts.data / (lengths * statistics.share[counts.indices]))
    )


def query_rows(counts: TextMatrix, statistics: Statistics, c: float) -> TextMatrix:
    """Weigh queries: ``q_i / z(q)``, float32, computed in float64."""
    z = sums(counts, counts.data * most(statistics, c)[counts.indices])
    return with_weights(counts, counts.data / np.repeat(z, np.diff(counts.indptr)))


def most(statistics: Statistics, c: float) -> Float64:
    """Return the highest weight of each word in a document, float64 (words,)."""
    highest: Float64 = np.log1p((1 - c) / (c * statistics.share))
    return highest
