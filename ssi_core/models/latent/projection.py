"""Base of the models that compare texts by the cosine of their projections: ``cos(V'q, V'd)``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs
from ssi_core.estimator import Sizes
from ssi_core.models.base import FittedModel, Model, Side
from ssi_core.scoring.vectors import DenseWords, Inner, Vectors, Words
from ssi_core.types import Float32, TextMatrix, Texts


def unit(rows: Float32) -> Float32:
    """Rows divided by their length; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Float32 = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths != 0)
    return scaled


def cosine_words(matrix: TextMatrix, embedding: Float32, view: Words) -> DenseWords:
    """Words of ``matrix @ embedding`` at unit length: the lengths are in the weights."""
    lengths = np.linalg.norm(matrix @ embedding, axis=1)
    factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths != 0)
    data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    weights = sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return DenseWords(weights, embedding, view)


@dataclass(frozen=True)
class Projection(Model):
    """``f(q, d) = cos(V'q, V'd)`` with V (words, N), whatever V is."""

    view: str = "raw"

    def views(self) -> set[str]:
        """Return the one view that the model reads."""
        return {self.view}

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare V."""
        return {"V": ArraySpec("float32", (sizes[f"document {self.view}"], "dimensions"))}

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Unit rows of ``x V``."""
        return Inner(None, unit(texts.matrix(self.view) @ fitted.arrays["V"]))

    def dense_words(self, fitted: FittedModel, texts: Texts, side: Side) -> DenseWords:
        """Rows divided by the length of ``x V``."""
        return cosine_words(
            texts.matrix(self.view), fitted.arrays["V"], fitted.view(self.view, side)
        )
