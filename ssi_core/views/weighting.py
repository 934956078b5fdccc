"""Weightings of words: ``tf * ln(n / df)`` with three kinds of tf, unit rows and a cut; BM25; LM.

A word of every document weighs nothing, for it tells no two of them apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.kernels.sparse import unit_rows
from ssi_core.strict import meant
from ssi_core.types import Float32, Float64, Int64, TextMatrix
from ssi_core.views import bm25, lm
from ssi_core.views.names import BM25, COUNTS, FIELDS, LM
from ssi_core.views.statistics import Statistics

Side: TypeAlias = Literal["query", "document"]


def _raw(counts: Float64) -> Float64:
    return counts


def _sublinear(counts: Float64) -> Float64:
    return 1.0 + np.log(counts)


def _binary(counts: Float64) -> Float64:
    return np.ones_like(counts)


TERM_FREQUENCIES: dict[str, Callable[[Float64], Float64]] = {
    "raw": _raw,
    "sublinear": _sublinear,
    "binary": _binary,
}
"""Functions of the count of a word in a text, counts >= 1."""

WEIGHTINGS = (COUNTS, *TERM_FREQUENCIES)
"""Those that weigh the texts of both sides alike."""


_NAME = re.compile(
    r"(?P<kind>[a-z]+)(-(?P<asked>[a-z]+))?(:(?P<cut>0*[1-9]\d*))?(@(?P<words>0*[1-9]\d*))?"
    r"|bm25(:k1=(?P<k1>\d+(\.\d+)?),b=(?P<b>[01](\.\d+)?))?"
    r"|lm(:c=(?P<c>0\.\d*[1-9]\d*))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Weighting:
    """View of weighted words: ``WEIGHTING[:CUT][@WORDS]``, ``bm25[:k1=K,b=B]``, ``lm[:c=C]``.

    ``raw-sublinear`` weighs documents by raw counts and queries by sublinear ones: of a query that
    is a whole document, the words that it repeats say less than their number. (SMART writes
    ntc.ltc; Salton and Buckley 1988.)

    Attributes
    ----------
    kind : str
        One of `WEIGHTINGS`, or `BM25`, or `LM`.
    asked : str or None
        The same of queries, where they are weighed otherwise.
    cut : int or None
        Keep that many of the heaviest words of a text; None: all.
    words : int or None
        Columns are the n most frequent words; rows are what they are with all words, of unit length
        there, less the others; None: all.
    k1, b : float
        For "bm25": saturation of a document's counts, and share of the length normalisation.
    c : float
        For "lm": weight of the collection, between 0 and 1.
    """

    kind: str
    cut: int | None = None
    words: int | None = None
    k1: float = 1.2
    b: float = 0.75
    c: float = 0.5
    asked: str | None = None

    def __str__(self) -> str:
        if (self.k1, self.b) != (Weighting.k1, Weighting.b):
            return f"{self.kind}:k1={self.k1:g},b={self.b:g}"
        if self.c != Weighting.c:
            return f"{self.kind}:c={self.c:g}"
        cut = "" if self.cut is None else f":{self.cut}"
        kind = self.kind if self.asked is None else f"{self.kind}-{self.asked}"
        return f"{kind}{cut}" if self.words is None else f"{kind}{cut}@{self.words}"

    @property
    def two_sided(self) -> bool:
        """Tell whether a query is weighed otherwise than a document."""
        return self.kind in (BM25, LM) or self.asked is not None

    def of(self, side: str) -> Weighting:
        """Return how a side is weighed, "query" or "document"."""
        kind = self.asked if self.asked and side == "query" else self.kind
        return replace(self, kind=kind, asked=None)

    def width(self, words: int) -> int:
        """Return the number of columns for a vocabulary of so many words."""
        return words if self.words is None else min(words, self.words)

    @classmethod
    def parse(cls, name: str) -> Weighting:
        """Read a name; ValueError lists the weightings there are.

        >>> Weighting.parse("sublinear:100@30000").words
        30000
        >>> Weighting.parse("raw-sublinear").of("query").kind
        'sublinear'
        >>> Weighting.parse("bm25:k1=0.9,b=0.4").b
        0.4
        >>> Weighting.parse("lm:c=0.2").c
        0.2
        """
        match = _NAME.fullmatch(name)
        if name == FIELDS:
            return cls(FIELDS)
        if match is not None and name.startswith(BM25):
            k1, b = float(match["k1"] or cls.k1), float(match["b"] or cls.b)
            if b <= 1:
                return cls(BM25, k1=k1, b=b)
        elif match is not None and (name == LM or match["c"]):
            return cls(LM, c=float(match["c"] or cls.c))
        known = TERM_FREQUENCIES if match and match["asked"] else WEIGHTINGS
        if match is None or not {match["kind"], match["asked"] or match["kind"]} <= {*known}:
            near = meant(re.split("[-:@]", name)[0], (*WEIGHTINGS, BM25, LM))
            raise ValueError(
                f"view={name!r}:{near} Expected WEIGHTING, WEIGHTING:CUT or WEIGHTING@WORDS, such "
                "as 'raw', 'sublinear:100' or 'raw@30000'; WEIGHTING is one of "
                f"{', '.join(WEIGHTINGS)}, or two of them, 'raw-sublinear': raw counts of "
                "documents and sublinear ones of queries; CUT the heaviest words of a text, WORDS "
                "the most frequent of all, whole numbers >= 1; bm25 is written alone or as "
                "'bm25:k1=0.9,b=0.4', b from 0 to 1; lm alone or as 'lm:c=0.2', c between 0 and 1"
            )
        cut, words = (int(n) if n else None for n in match.group("cut", "words"))
        asked = match["asked"] if match["asked"] != match["kind"] else None
        return cls(match["kind"], cut, words, asked=asked)


def inverse_document_frequency(document_frequency: Int64, documents: int) -> Float32:
    """``idf = ln(n / df)``; each word must be in at least one of the n documents."""
    if len(document_frequency) and document_frequency.min() < 1:
        raise ValueError("document_frequency: expected >= 1 everywhere, a word came with 0")
    return np.log(documents / document_frequency.astype(np.float64)).astype(np.float32)


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


def weigh(counts: TextMatrix, idf: Float32, weighting: Weighting) -> TextMatrix:
    """Weigh rows of counts; a row alone comes out bit by bit as it does among others.

    Weights are computed in float64 and rounded once. The cut takes the heaviest words, equal ones
    in the order of their numbers, and the row that is left is brought to unit length.

    Parameters
    ----------
    counts : CSR (n, words)
        Sorted indices, counts >= 1.
    idf : float32 (words,)
        Inverse document frequency of each word.

    Returns
    -------
    CSR float32 (n, ``weighting.width(words)``), sorted indices, no stored zeros
    """
    if str(weighting) == COUNTS and counts.dtype == np.float32:
        return counts
    values = counts.data.astype(np.float64)
    if weighting.kind == COUNTS:
        kept = np.ones(len(values), np.bool_)
    else:
        kept = idf[counts.indices] > 0
        values = TERM_FREQUENCIES[weighting.kind](values) * idf[counts.indices]
    if weighting.cut is not None:
        kept &= heaviest(counts.indptr, values, weighting.cut)
    ends = np.concatenate([[0], np.cumsum(kept)])
    indptr = ends[counts.indptr]
    values = values[kept]
    if weighting.kind != COUNTS:
        unit_rows(indptr, values)
    rows = sparse.csr_array(
        (values.astype(np.float32), counts.indices[kept], indptr.astype(counts.indptr.dtype)),
        shape=counts.shape,
    )
    return rows if weighting.words is None else _first_columns(rows, weighting.words)


def _first_columns(rows: TextMatrix, n: int) -> TextMatrix:
    kept = rows.indices < n
    ends = np.concatenate([[0], np.cumsum(kept)]).astype(rows.indptr.dtype)
    shape = (rows.shape[0], min(n, rows.shape[1]))
    return sparse.csr_array((rows.data[kept], rows.indices[kept], ends[rows.indptr]), shape=shape)


def heaviest(indptr: NDArray[Any], values: Float64, k: int) -> NDArray[np.bool_]:
    """Mark the k largest values of each row, the first ones among equals."""
    kept = np.ones(len(values), np.bool_)
    for row in np.flatnonzero(np.diff(indptr) > k).tolist():
        begin, end = indptr[row], indptr[row + 1]
        kept[begin + np.argsort(-values[begin:end], kind="stable")[k:]] = False
    return kept
