"""First values of an embedding: noise, or the rows of words that another one already has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.sparse import aligned_empty, csr, padded, product
from ssi_core.kernels.training.structs import read_only
from ssi_core.kernels.vectors import converts_float16
from ssi_core.types import Float32, TextMatrix, View


def normal(rows: int, dimensions: int, std: float, rng: np.random.Generator) -> Any:
    """Normal entries in rows padded with zeros, which stay zero through every step."""
    embedding = aligned_empty(rows, padded(dimensions))
    embedding[:, dimensions:] = 0
    embedding[:, :dimensions] = rng.standard_normal((rows, dimensions), np.float32) * np.float32(
        std
    )
    return embedding


def embedded(matrix: TextMatrix, embedding: NDArray[Any], dimensions: int) -> Float32:
    """Return ``matrix @ embedding[:, :dimensions]``, bit by bit what scipy gives, without a copy.

    Parameters
    ----------
    matrix : CSR float32 (n, words)
        Weights of words.
    embedding : float32 or float16 (words, dimensions or more)
        C order; what is longer is padding. Float16 may have the type uint16 (`sparse.halved`).
    dimensions : int
        Columns of the result.
    """
    dense = np.empty((matrix.shape[0], dimensions), np.float32)
    if embedding.dtype == np.float16 and converts_float16():
        embedding = embedding.view(np.uint16)
    elif embedding.dtype != np.uint16:
        embedding = np.asarray(embedding, np.float32)
    product(csr(matrix), read_only(np.ascontiguousarray(embedding)), dense)
    return dense


def shared_words(old: View, new: View) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the words that both views have, in the one and in the other."""
    rows = {word: i for i, word in enumerate(old.words)}
    both = [(rows[word], i) for i, word in enumerate(new.words) if word in rows]
    pairs = np.array(both, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
