"""The step of ``U'V`` in which a thread has rows of its own for the most frequent words.

Threads that share embeddings take the cache lines of the most frequent words from each other in
nearly every step. Here each changes copies of these rows, and from time to time adds what it has
changed to the embeddings (`give`), so that each step counts whole; all other rows are shared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ssi_core.kernels import jit, part
from ssi_core.kernels.sparse import Csr, aligned_empty, dot, floats, scatter
from ssi_core.kernels.training.adagrad import subtract
from ssi_core.kernels.training.structs import Data, Parameters, Work
from ssi_core.kernels.vectors import add_to_own_rows, sum_own_rows, widened


class Own(NamedTuple):
    """Rows that a thread has in the place of an embedding's first K: those of K words.

    Views have the most frequent words first. ``rows`` (K, padded N) has the type of the embedding,
    and so has ``taken``: the rows as they were taken. ``words`` is the unit matrix of K.
    """

    rows: Any
    taken: Any
    words: Csr


class Private(NamedTuple):
    """Rows of U and of V that a thread has for itself; the same where ``U is V``.

    ``change`` float32 (padded N,) is scratch.
    """

    U: Own
    V: Own
    change: Any


def own_rows(embedding: Any, words: int) -> Own:
    """Return rows for the first words of an embedding, which are not taken yet."""
    count, width = min(words, len(embedding)), embedding.shape[1]
    room = aligned_empty(2 * count, width * embedding.itemsize // 4).view(embedding.dtype)
    rows, taken = room.reshape(2, count, width)
    unit = Csr(np.arange(count + 1), np.arange(count, dtype=np.int32), np.ones(count, np.float32))
    return Own(rows, taken, unit)


@jit
def take(embedding: Any, own: Own) -> None:
    """Copy the first rows of the embedding."""
    for k in range(own.rows.shape[0]):
        for r in range(own.rows.shape[1]):
            own.rows[k, r] = own.taken[k, r] = embedding[k, r]


@jit
def give(embedding: Any, own: Own, change: Any) -> None:
    """Add what has changed since the rows were taken to the embedding; see `Private.change`."""
    for k in range(own.rows.shape[0]):
        for r in range(change.shape[0]):
            change[r] = widened(own.rows[k, r]) - widened(own.taken[k, r])
        scatter(embedding, own.words, k, np.float32(1), change)


def _gather(embedding: Any, own: Own, matrix: Csr, row: int, out: Any) -> None:
    """Compute what `sparse.gather` does."""
    out[:] = 0
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        out += matrix.data[t] * floats(_row(embedding, own, matrix.indices[t]))


def _scatter(
    embedding: Any, own: Own, matrix: Csr, row: int, scale: np.float32, direction: Any
) -> None:
    """Add what `sparse.scatter` does."""
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        changed = floats(_row(embedding, own, matrix.indices[t]))
        changed[:] = changed + scale * matrix.data[t] * direction


def _row(embedding: Any, own: Own, word: int) -> Any:
    return own.rows[word] if word < len(own.rows) else embedding[word]


@overload(_gather, jit_options={"_nrt": False})
def _gathering(embedding: Any, own: Own, matrix: Csr, row: int, out: Any) -> Any:
    def compiled(embedding: Any, own: Own, matrix: Csr, row: int, out: Any) -> None:
        first, last = matrix.indptr[row], matrix.indptr[row + 1]
        words, data, one = matrix.indices, matrix.data, np.float32(1)
        sum_own_rows(embedding, words, data, first, last, out, one, own.rows)

    return compiled


@overload(_scatter, jit_options={"_nrt": False})
def _scattering(
    embedding: Any, own: Own, matrix: Csr, row: int, scale: np.float32, direction: Any
) -> Any:
    def compiled(
        embedding: Any, own: Own, matrix: Csr, row: int, scale: np.float32, direction: Any
    ) -> None:
        first, last = matrix.indptr[row], matrix.indptr[row + 1]
        words, data = matrix.indices, matrix.data
        add_to_own_rows(embedding, words, data, first, last, direction, scale, own.rows)

    return compiled


@part
def private_query(parameters: Parameters, data: Data, work: Work, q: int) -> None:
    """``work.query = U q``."""
    mine = parameters.private
    _gather(parameters.U, mine.U, data.queries, q, work.query)


@part
def private_document(
    parameters: Parameters, data: Data, work: Work, d: int, slot: int
) -> np.float32:
    """Score ``(U q)' (V d)``; keeps ``V d``."""
    mine = parameters.private
    _gather(parameters.V, mine.V, data.documents, d, work.documents[slot])
    return dot(work.query, work.documents[slot])


@part
def private_step(
    parameters: Parameters, data: Data, work: Work, q: int, p: int, n: int, rate: np.float32
) -> None:
    """``U += rate V (d+ - d-) q'``, ``V += rate U q (d+ - d-)'``."""
    subtract(work.documents)
    U, V, mine = parameters.U, parameters.V, parameters.private
    _scatter(U, mine.U, data.queries, q, rate, work.documents[1])
    _scatter(V, mine.V, data.documents, p, rate, work.query)
    _scatter(V, mine.V, data.documents, n, -rate, work.query)
