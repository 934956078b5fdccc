"""Latent vectors of documents, all of one length.

What links prefer, a training on links learns: the longer the latent vector ``V phi(d)``, the better
the document is for every query that it is near to, and the most linked ones become the longest.
With one length for all, ``|V phi(d)| = c`` times the mean, only the direction of the vector counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ssi_core.models.base import FittedModel
from ssi_core.models.latent.projection import cosine_words, unit
from ssi_core.scoring.vectors import DenseWords
from ssi_core.types import Float32, Texts

LENGTH = "length"
"""Array of one number: the length, of a model that has it."""


def with_one_length(
    fitted: FittedModel,
    documents: Texts,
    multiples: Sequence[float],
    error: Callable[[FittedModel], float],
) -> FittedModel:
    """Give the documents of a model one length, and say in its facts which.

    Parameters
    ----------
    fitted : FittedModel
        A model with a dense part, whose documents are as long as they were learnt.
    documents : Texts
        Those whose mean length is taken.
    multiples : sequence of float
        Lengths to choose from, as multiples of the mean.
    error : callable
        Model -> what is to be small, on validation; not asked where there is one multiple.
    """
    dense = fitted.embed_documents(documents).dense
    mean = 0.0 if dense is None else float(np.linalg.norm(dense, axis=1).mean())

    def of(multiple: float) -> FittedModel:
        arrays = {**fitted.arrays, LENGTH: np.array([multiple * mean], np.float32)}
        return replace(fitted, arrays=arrays, facts={**fitted.facts, LENGTH: multiple})

    variants = [of(multiple) for multiple in multiples]
    return variants[0] if len(variants) == 1 else min(variants, key=error)


def brought(dense: Float32, fitted: FittedModel) -> Float32:
    """Return documents at the length of a model that has one; a row of zeros stays."""
    scaled: Float32 = unit(dense) * fitted.arrays[LENGTH][0]
    return scaled


def brought_words(words: DenseWords, fitted: FittedModel) -> DenseWords:
    """Return the words of documents with the factor of `brought` in their weights."""
    equal = cosine_words(*words)
    return equal._replace(weights=equal.weights * fitted.arrays[LENGTH][0])
