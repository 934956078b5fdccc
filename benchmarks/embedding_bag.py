"""The peer of the sweep: U and V as EmbeddingBag of PyTorch, sparse gradients, plain SGD."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np

from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.training.structs import Data, Parameters

_PREPARED = 2048


def bags(torch: Any, matrix: Csr, rows: Any) -> tuple[Any, Any, Any]:
    """Rows of a CSR matrix as what EmbeddingBag takes: indices, offsets, weights."""
    first, last = matrix.indptr[rows], matrix.indptr[rows + 1]
    ends = np.cumsum(last - first)
    offsets = ends - (last - first)
    positions = np.repeat(first - offsets, last - first) + np.arange(ends[-1])
    indices, weights = matrix.indices[positions].astype(np.int64), matrix.data[positions]
    return tuple(map(torch.from_numpy, (indices, offsets, weights)))


def dots(torch: Any, query: Any, documents: Any, batch: int, words: int) -> Any:
    """Return ``<q, d>`` of each document, as sparse rows: first all d+, then all d-.

    Parameters
    ----------
    query, documents : what `bags` gives of ``batch`` queries and twice as many documents
    batch, words : queries, and columns
    """
    asked = _owners(torch, query)
    owner = _owners(torch, documents)
    known = asked * words + query[0]  # ascending, as the rows of a CSR matrix are
    wanted = (owner % batch) * words + documents[0]
    position = torch.searchsorted(known, wanted).clamp(max=len(known) - 1)
    products = torch.where(known[position] == wanted, query[2][position] * documents[2], 0.0)
    return torch.zeros(2 * batch).index_add_(0, owner, products)


def _owners(torch: Any, bag: Any) -> Any:
    indices, offsets, _ = bag
    lengths = torch.diff(offsets, append=torch.tensor([len(indices)]))
    return torch.repeat_interleave(torch.arange(len(offsets)), lengths)


class Peer:
    """Steps of PyTorch on batches of triples.

    Parameters
    ----------
    torch : the module
    parameters, dimensions : U and V, copied; the padding is left off
    batch : triples a step
    batches : steps a run
    prepared : the batches are made beforehand, at least `_PREPARED` triples, so that drawing and
        gathering them is not counted; else they are new ones, as in a training
    margin, rate : as in the sweep; the losses of a batch are summed
    identity : the score has the term ``<q, d>``, which is computed in each step
    numbers : "float32", "bfloat16" or "float16", of U, V and the weights of words
    """

    def __init__(
        self,
        torch: Any,
        data: Data,
        parameters: Parameters,
        dimensions: int,
        *,
        batch: int,
        batches: int,
        prepared: bool,
        margin: float,
        rate: float,
        identity: bool = False,
        numbers: str = "float32",
    ) -> None:
        self._torch, self._margin, self._batch = torch, margin, batch
        self._identity, self._words = identity, len(parameters.U)
        self._numbers = getattr(torch, numbers)
        self.triples = batch * batches
        self._u, self._v = (
            torch.nn.EmbeddingBag.from_pretrained(
                torch.from_numpy(array[:, :dimensions].copy()).to(self._numbers),
                freeze=False,
                mode="sum",
                sparse=True,
            )
            for array in (parameters.U, parameters.V)
        )
        self._optimizer = torch.optim.SGD([self._u.weight, self._v.weight], lr=rate)
        self._count, self._data, self._rng = batches, data, np.random.default_rng(2)
        made = [self._draw() for _ in range(_PREPARED // batch)] if prepared else []
        self._batches = cycle(made) if prepared else iter(self._draw, None)

    def _draw(self) -> tuple[Any, Any]:
        """Bags of the queries, and of documents: first all d+, then all d-."""
        data, rng = self._data, self._rng
        pairs = data.pairs[rng.integers(0, len(data.pairs), self._batch)]
        negatives = rng.integers(0, len(data.documents.indptr) - 1, self._batch)
        documents = np.concatenate([pairs[:, 1], negatives])
        return (
            bags(self._torch, data.queries, pairs[:, 0]),
            bags(self._torch, data.documents, documents),
        )

    def embeddings(self) -> tuple[Any, Any]:
        """U and V as they are now, as arrays."""
        return tuple(bag.weight.detach().numpy() for bag in (self._u, self._v))

    def run(self) -> None:
        """Take one step on each of the next batches."""
        for _ in range(self._count):
            (q, q_offsets, q_weights), (d, d_offsets, d_weights) = next(self._batches)
            self._optimizer.zero_grad()
            query = self._u(q, q_offsets, per_sample_weights=q_weights.to(self._numbers))
            both = self._v(d, d_offsets, per_sample_weights=d_weights.to(self._numbers))
            difference = both[: self._batch] - both[self._batch :]
            score = (query * difference).sum(1)
            if self._identity:
                bags_of = (q, q_offsets, q_weights), (d, d_offsets, d_weights)
                same = dots(self._torch, *bags_of, self._batch, self._words)
                score = score + same[: self._batch] - same[self._batch :]
            hinge = self._torch.relu(self._margin - score)
            hinge.sum().backward()
            self._optimizer.step()
