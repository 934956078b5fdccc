"""Weights of words in texts: ``tf * ln(n / df)``, three kinds of tf, unit rows, a cut.

A word of every document weighs nothing, for it tells no two of them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.kernels.rows import unit_rows
from ssi_core.types import Float32, Float64, Int64, TextMatrix

VERSION = 1


def _raw(counts: Float64) -> Float64:
    """``tf``."""
    return counts


def _sublinear(counts: Float64) -> Float64:
    """``1 + ln tf``."""
    return 1.0 + np.log(counts)


def _binary(counts: Float64) -> Float64:
    """``1``."""
    return np.ones_like(counts)


TERM_FREQUENCIES: dict[str, Callable[[Float64], Float64]] = {
    "raw": _raw,
    "sublinear": _sublinear,
    "binary": _binary,
}
"""Functions of the count of a word in a text, counts >= 1."""

COUNTS = "counts"
"""The weighting that is none: how often a word occurs, no idf, rows as they are."""

WEIGHTINGS = (COUNTS, *TERM_FREQUENCIES)


@dataclass(frozen=True)
class Weighting:
    """What ``WEIGHTING[:CUT]`` says, the spelling of a view's name.

    Attributes
    ----------
    kind : one of `WEIGHTINGS`
    cut : keep that many of the heaviest words of a text; None: all
    """

    kind: str
    cut: int | None = None

    def __str__(self) -> str:
        return self.kind if self.cut is None else f"{self.kind}:{self.cut}"

    @classmethod
    def parse(cls, name: str) -> Weighting:
        """Read a name; ValueError lists the weightings there are.

        >>> Weighting.parse("sublinear:100")
        Weighting(kind='sublinear', cut=100)
        """
        kind, colon, cut = name.partition(":")
        if kind not in WEIGHTINGS or (colon and not (cut.isascii() and cut.isdigit() and int(cut))):
            known = ", ".join(WEIGHTINGS)
            raise ValueError(
                f"view={name!r}: expected WEIGHTING or WEIGHTING:CUT, such as 'raw' or "
                f"'sublinear:100'; WEIGHTING is one of {known}, CUT a whole number of words >= 1"
            )
        return cls(kind, int(cut) if colon else None)


def inverse_document_frequency(document_frequency: Int64, documents: int) -> Float32:
    """``idf = ln(n / df)``; each word must be in at least one of the n documents."""
    if len(document_frequency) and document_frequency.min() < 1:
        raise ValueError("document_frequency: expected >= 1 everywhere, a word came with 0")
    return np.log(documents / document_frequency.astype(np.float64)).astype(np.float32)


def weigh(counts: TextMatrix, idf: Float32, weighting: Weighting) -> TextMatrix:
    """Weigh rows of counts; a row alone comes out bit by bit as it does among others.

    Weights are computed in float64 and rounded once. The cut takes the heaviest words, equal ones
    in the order of their numbers, and the row that is left is brought to unit length.

    Parameters
    ----------
    counts : CSR (n, words), sorted indices, counts >= 1
    idf : float32 (words,)

    Returns
    -------
    CSR float32 (n, words), sorted indices, no stored zeros
    """
    values = counts.data.astype(np.float64)
    if weighting.kind == COUNTS:
        kept = np.ones(len(values), np.bool_)
    else:
        kept = idf[counts.indices] > 0
        values = TERM_FREQUENCIES[weighting.kind](values) * idf[counts.indices]
    if weighting.cut is not None:
        kept &= _heaviest(counts.indptr, values, weighting.cut)
    ends = np.concatenate([[0], np.cumsum(kept)])
    indptr = ends[counts.indptr]
    values = values[kept]
    if weighting.kind != COUNTS:
        unit_rows(indptr, values)
    return sparse.csr_array(
        (values.astype(np.float32), counts.indices[kept], indptr.astype(counts.indptr.dtype)),
        shape=counts.shape,
    )


def _heaviest(indptr: NDArray[Any], values: Float64, k: int) -> NDArray[np.bool_]:
    """Mark the k largest values of each row, the first ones among equals."""
    kept = np.ones(len(values), np.bool_)
    for row in np.flatnonzero(np.diff(indptr) > k).tolist():
        begin, end = indptr[row], indptr[row + 1]
        kept[begin + np.argsort(-values[begin:end], kind="stable")[k:]] = False
    return kept
