"""Statistics of the words of a collection: in how many texts each is, how long texts are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ssi_core.types import Float32, Float64


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
    """

    idf: Float32
    texts: int
    mean_length: float

    @cached_property
    def bm25_idf(self) -> Float64:
        """``ln(1 + (n - df + 0.5) / (df + 0.5))``, float64 (words,)."""
        df = np.rint(self.texts * np.exp(-self.idf.astype(np.float64)))
        idf: Float64 = np.log1p((self.texts - df + 0.5) / (df + 0.5))
        return idf
