"""What memory allows: the sweep's reads and writes of embeddings, and next to no arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from ssi_core.kernels import jit, jit_fast
from ssi_core.kernels.forms import Data, Parameters
from ssi_core.kernels.random import below
from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.sweep import draw_negative


@jit_fast
def add_up(embedding: Any, matrix: Csr, row: int, out: Any) -> None:
    """Read the rows of the words of a text, four at a time."""
    indices = matrix.indices
    t, stop = matrix.indptr[row], matrix.indptr[row + 1]
    while t + 4 <= stop:
        a, b, c, d = (
            embedding[indices[t]],
            embedding[indices[t + 1]],
            embedding[indices[t + 2]],
            embedding[indices[t + 3]],
        )
        for r in range(out.shape[0]):
            out[r] += a[r] + b[r] + c[r] + d[r]
        t += 4
    while t < stop:
        a = embedding[indices[t]]
        for r in range(out.shape[0]):
            out[r] += a[r]
        t += 1


@jit_fast
def rewrite(embedding: Any, matrix: Csr, row: int, x: np.float32) -> None:
    """Read, change and write the rows of the words of a text."""
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        e = embedding[matrix.indices[t]]
        for r in range(e.shape[0]):
            e[r] += x


@jit
def probe(
    parameters: Parameters,
    data: Data,
    out: Any,
    n_documents: int,
    state: Any,
    steps: int,
    x: np.float32,
) -> None:
    """Go over the triples that `sweep` draws from the same state, all of them violating."""
    for _ in range(steps):
        pair = below(state, data.pairs.shape[0])
        q, p = data.pairs[pair, 0], data.pairs[pair, 1]
        n = draw_negative(data, n_documents, q, state)
        add_up(parameters.U, data.queries, q, out)
        add_up(parameters.V, data.documents, p, out)
        add_up(parameters.V, data.documents, n, out)
        rewrite(parameters.U, data.queries, q, x)
        rewrite(parameters.V, data.documents, p, x)
        rewrite(parameters.V, data.documents, n, x)
