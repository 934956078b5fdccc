"""Rows of one side of a task in any weighting of words."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ssi_core.types import Float64, TextMatrix
from ssi_core.views import bm25, lm
from ssi_core.views.names import LM
from ssi_core.views.statistics import Statistics
from ssi_core.views.tfidf import Weighting, weigh

Side: TypeAlias = Literal["query", "document"]


def weigh_side(
    counts: TextMatrix, statistics: Statistics, weighting: Weighting, side: Side
) -> TextMatrix:
    """Weigh rows of counts as a side has them; a row alone comes out as it does among others.

    Parameters
    ----------
    counts : CSR (n, words)
        Sorted indices, counts >= 1.
    side : str
        It matters where ``weighting.two_sided``.

    Returns
    -------
    CSR float32 (n, ``weighting.width(words)``), sorted indices, no stored zeros
    """
    weighting = weighting.of(side)
    if not weighting.two_sided:
        return weigh(counts, statistics.idf, weighting)
    if weighting.kind == LM:
        weigh_rows = lm.query_rows if side == "query" else lm.document_rows
        return weigh_rows(counts, statistics, weighting.c)
    if side == "query":
        return bm25.query_rows(counts, statistics, weighting.k1)
    return bm25.document_rows(counts, statistics, weighting.k1, weighting.b)


def most_of(statistics: Statistics, weighting: Weighting) -> Float64:
    """Return the weights of words that a query of a two-sided view is a share of, (words,)."""
    if weighting.kind == LM:
        return lm.most(statistics, weighting.c)
    return bm25.most(statistics, weighting.k1)
