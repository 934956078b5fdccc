"""AdaGrad for embeddings: the rate of a word falls with how far its row was pulled so far.

With the gradient g_w of row w in one triple, and r over the N dimensions::

    A_w += mean_r g_wr^2,    row_w -= rate g_w / sqrt(A_w)

Duchi, Hazan and Singer (2011) have an accumulator for each entry; one for each row costs no memory
to speak of, and rotates with the latent space. A starts at a small number instead of 0, so that the
root is never that of 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ssi_core.kernels import part, part_fast
from ssi_core.kernels.sparse import Csr, dot, scatter, spread
from ssi_core.kernels.training.structs import Data, Parameters, Work

_FIRST = 1e-8
"""A at first: far below the squares of gradients that matter."""


def first_squares(words: int) -> Any:
    """Return the accumulators of an embedding that has not moved yet, float32 (words,)."""
    return np.full(words, _FIRST, np.float32)


@part_fast
def subtract(documents: Any) -> None:
    """Put ``V d+ - V d-`` in the place of ``V d-``."""
    for r in range(documents.shape[1]):
        documents[1, r] = documents[0, r] - documents[1, r]


@part
def _scaled(squares: Any, matrix: Csr, row: int, square: np.float32, work: Work) -> None:
    """Move the words of a row from ``work.words`` to ``work.row``, each over its root of A."""
    scaled = work.row
    count = scaled.indptr[1]
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        i = matrix.indices[t]
        x = work.words[i]
        if x != 0:
            work.words[i] = 0
            squares[i] += x * x * square
            scaled.indices[count] = i
            scaled.data[count] = x / np.sqrt(squares[i])
            count += 1
    scaled.indptr[1] = count


@part
def adagrad_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """Step of ``U'V`` as `forms.low_rank_step`, with a rate for each row.

    The gradients are ``-q_w V (d+ - d-)`` for row w of U and ``-(d+_w - d-_w) U q`` for row w of V.
    For ``U'U`` they count as two steps, one after the other.
    """
    squares, documents = parameters.squares, data.documents
    subtract(work.documents)
    difference = work.documents[1]
    work.row.indptr[1] = 0
    spread(data.queries, q, work.words)
    square = dot(difference, difference) / squares.dimensions
    _scaled(squares.U, data.queries, q, square, work)
    scatter(parameters.U, work.row, 0, rate, difference)

    work.row.indptr[1] = 0
    spread(documents, p, work.words)
    for t in range(documents.indptr[n], documents.indptr[n + 1]):
        work.words[documents.indices[t]] -= documents.data[t]
    square = dot(work.query, work.query) / squares.dimensions
    _scaled(squares.V, documents, p, square, work)
    _scaled(squares.V, documents, n, square, work)
    scatter(parameters.V, work.row, 0, rate, work.query)
