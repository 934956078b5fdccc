"""What memory allows: the sweep's reads and writes of embeddings, and nothing else.

The rows go through the sweep's own loops, the fastest found: loops as numba makes them reach two
thirds of their speed. What the sweep has beyond them are scores, margins and directions. How near
the loops come to the memory itself, bytes a second say, beside those of a copy from end to end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ssi_core.kernels import jit
from ssi_core.kernels.sparse import Csr, gather, scatter
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import Data, Parameters
from ssi_core.kernels.training.sweep import draw_negative


@jit
def probe(
    parameters: Parameters, data: Data, out: Any, n_documents: int, state: Any, steps: int
) -> None:
    """Go over the triples that `sweep` draws from the same state, all of them violating.

    Each row is read and added up in ``out``, then read again and written.
    """
    nothing = np.float32(0)
    for _ in range(steps):
        pair = below(state, data.pairs.shape[0])
        q, p = np.int64(data.pairs[pair, 0]), np.int64(data.pairs[pair, 1])
        n = draw_negative(data, n_documents, q, state)
        gather(parameters.U, data.queries, q, out)
        gather(parameters.V, data.documents, p, out)
        gather(parameters.V, data.documents, n, out)
        scatter(parameters.U, data.queries, q, nothing, out)
        scatter(parameters.V, data.documents, p, nothing, out)
        scatter(parameters.V, data.documents, n, nothing, out)


def bytes_of_a_triple(parameters: Parameters, rows: Csr) -> float:
    """Mean bytes that a violating triple moves: three texts' rows, read twice and written."""
    words = len(rows.indices) / (len(rows.indptr) - 1)
    return float(3 * 3 * words * parameters.U.strides[0])
