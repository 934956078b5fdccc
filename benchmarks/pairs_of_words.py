"""The peer of dense and hashed W in PyTorch: gather the weights of a triple, add to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.training.structs import Data


class Peer:
    """Steps on single triples, the gradient by hand: autograd's is as large as W.

    Parameters
    ----------
    W : flat, shared; pair (s, t) has the weight ``W[(s step + t) mod H]``
    triples : drawn beforehand; all violate
    """

    def __init__(
        self, torch: Any, W: Any, step: int, data: Data, triples: list[tuple[int, int, int]]
    ) -> None:
        self._torch, self._step = torch, step
        self._W = torch.from_numpy(W)
        sides = (data.queries, data.documents, data.documents)
        self._triples = [
            tuple(self._row(rows, i) for rows, i in zip(sides, triple, strict=True))
            for triple in triples
        ]

    def _row(self, matrix: Csr, i: int) -> tuple[Any, Any]:
        own = slice(matrix.indptr[i], matrix.indptr[i + 1])
        indices = self._torch.from_numpy(matrix.indices[own].astype(np.int64))
        return indices, self._torch.from_numpy(matrix.data[own].copy())

    def run(self, rate: float = 1e-5) -> float:
        """Score and step."""
        W, total = self._W, 0.0
        for (s, q), *documents in self._triples:
            places, values = [], []
            for sign, (t, d) in zip((1, -1), documents, strict=True):
                place = (s[:, None] * self._step + t) % len(W)
                total += sign * float(q @ W[place] @ d)
                places.append(place.ravel())
                values.append(self._torch.outer(q, d).ravel() * (sign * rate))
            for place, value in zip(places, values, strict=True):
                W.index_add_(0, place, value)
        return total
