"""Statistics of the words of a collection: how often each is there, how long texts are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssi_core.types import BadInput, Float32, Float64, Int64


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of the words of some texts, from which other texts are weighed, too.

    Attributes
    ----------
    idf : float32 (words,)
        ``ln(n / df)``.
    texts : int
        n, the texts that df was counted in.
    mean_length : float
        Words of the vocabulary in a document, on average.
    occurrences : int64 (words,) or None
        How often a word is in all documents; None: not known.
    field_lengths : tuple of float
        The same as ``mean_length`` for each field of `ssi_core.text.fields.FIELDS`; empty where
        documents are their texts alone. A document frequency is then over the union of the fields.
    """

    idf: Float32
    texts: int
    mean_length: float
    occurrences: Int64 | None = None
    field_lengths: tuple[float, ...] = ()

    @cached_property
    def bm25_idf(self) -> Float64:
        """``ln(1 + (n - df + 0.5) / (df + 0.5))``, float64 (words,)."""
        df = np.rint(self.texts * np.exp(-self.idf.astype(np.float64)))
        idf: Float64 = np.log1p((self.texts - df + 0.5) / (df + 0.5))
        return idf

    @cached_property
    def share(self) -> Float64:
        """Share of each word in all documents, see `share_of`; `BadInput` where it is not known."""
        if self.occurrences is None:
            raise BadInput(
                "the view 'lm' needs the number of times that each word occurs in all documents, "
                "which this task or model lacks. Make it again."
            )
        return share_of(self.occurrences)


def share_of(occurrences: Int64 | Float64) -> Float64:
    """Return the share of each word in all texts; a word in no text counts once."""
    share: Float64 = np.maximum(occurrences, 1) / max(1.0, float(occurrences.sum()))
    return share
