"""The training sweep on a GPU: `sweep` for ``U'V``, with the steps of blocks of threads at once.

A block takes one triple at a time; its threads share the dimensions of the maps, and the words of
the diagonal. Blocks share the parameters without a lock, as threads do (Hogwild), but add to them
with atomic additions: no step is lost, and their order is open. So the result is reproducible with
one block alone; it then draws the triples of one thread of `sweep`.

Only this file imports ``numba.cuda``, and whoever needs it imports this file late. Its functions
cannot call those of `random` and `sparse`, which are compiled for the processor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import cuda

from ssi_core.kernels.sparse import Csr
from ssi_core.kernels.structs import Data, Settings, Stepped
from ssi_core.kernels.totals import HINGE, SKIPPED, TRIPLES, VIOLATED

F = TypeVar("F", bound=Callable[..., object])


class Learnt(NamedTuple):
    """Learnt arrays on the device, as of `structs.Parameters`; ``U is V`` makes ``U'U``."""

    U: Any
    V: Any
    diagonal: Any


def device(function: F) -> F:
    """Compile what only kernels of the device call."""
    return cast(F, cuda.jit(device=True)(function))


# --- draws: the same numbers as `random` and `sweep.draw_negative` -------------------------------

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
_DRAWS = 1000


@device
def next_uint64(state: Any) -> np.uint64:
    """Advance ``state`` and return 64 random bits (splitmix64)."""
    state[0] += _STEP
    z: np.uint64 = (state[0] ^ (state[0] >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@device
def below(state: Any, n: int) -> Any:
    """Return a uniform integer in 0..n-1, for n < 2**32."""
    return np.int64(((next_uint64(state) >> _32) * np.uint64(n)) >> _32)


@device
def place(indptr: Any, indices: Any, row: int, column: int) -> Any:
    """Return where a row with sorted indices has a column, by binary search; -1: it has none."""
    low, last = indptr[row], indptr[row + 1]
    high = last
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    return np.int64(low if low < last and indices[low] == column else -1)


@device
def draw_negative(data: Data, n_documents: int, q: int, state: Any) -> Any:
    """Draw a uniform document that is not excluded for query ``q``; -1 when none is found."""
    for _ in range(_DRAWS):
        d = below(state, n_documents)
        if place(data.barred_indptr, data.barred_indices, q, d) < 0:
            return d
    return np.int64(-1)


# --- rows and maps: each thread has dimensions of its own ----------------------------------------


@device
def gather(embedding: Any, matrix: Csr, row: int, out: Any) -> None:
    """Compute ``out = sum_w x_w embedding[w]`` in the dimensions of this thread."""
    for r in range(cuda.threadIdx.x, out.shape[0], cuda.blockDim.x):
        total = np.float32(0)
        for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
            total += matrix.data[t] * embedding[matrix.indices[t], r]
        out[r] = total


@device
def scatter(embedding: Any, matrix: Csr, row: int, scale: np.float32, direction: Any) -> None:
    """Add ``scale x_w direction`` to ``embedding[w]`` in the dimensions of this thread."""
    for t in range(matrix.indptr[row], matrix.indptr[row + 1]):
        word, x = matrix.indices[t], scale * matrix.data[t]
        for r in range(cuda.threadIdx.x, direction.shape[0], cuda.blockDim.x):
            cuda.atomic.add(embedding, (word, r), x * direction[r])


@device
def dot(a: Any, b: Any) -> Any:
    """Return the part of this thread in the inner product of two dense vectors."""
    total = np.float32(0)
    for r in range(cuda.threadIdx.x, a.shape[0], cuda.blockDim.x):
        total += a[r] * b[r]
    return total


@device
def total_of(part: np.float32, parts: Any) -> Any:
    """Return the sum of the parts of all threads of the block, of which it waits for all.

    ``parts`` float32 (threads,) is shared; the number of threads is a power of two.
    """
    parts[cuda.threadIdx.x] = part
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if cuda.threadIdx.x < half:
            parts[cuda.threadIdx.x] += parts[cuda.threadIdx.x + half]
        cuda.syncthreads()
        half //= 2
    total = parts[0]
    cuda.syncthreads()
    return total


# --- diagonals: each thread has words of the document of its own ---------------------------------


@device
def query_weight(data: Data, q: int, word: int) -> Any:
    """Return the weight of a word in the query, in the diagonal's view."""
    queries = data.diagonal_queries
    t = place(queries.indptr, queries.indices, q, word)
    return queries.data[t] if t >= 0 else np.float32(0)


@device
def same_words(data: Data, q: int, d: int) -> Any:
    """Return the part of this thread in ``q'd``."""
    documents = data.diagonal_documents
    total = np.float32(0)
    start = documents.indptr[d] + cuda.threadIdx.x
    for t in range(start, documents.indptr[d + 1], cuda.blockDim.x):
        total += query_weight(data, q, documents.indices[t]) * documents.data[t]
    return total


@device
def no_diagonal_part(learnt: Learnt, data: Data, q: int, d: int) -> Any:
    """No diagonal: no score."""
    return np.float32(0)


@device
def no_diagonal_step(
    learnt: Learnt, data: Data, q: int, p: int, n: int, rate: np.float32, parts: Any
) -> None:
    """No diagonal: nothing to learn."""


@device
def alpha_part(learnt: Learnt, data: Data, q: int, d: int) -> Any:
    """Score ``alpha q'd``, the part of this thread."""
    return learnt.diagonal[0] * same_words(data, q, d)


@device
def alpha_step(
    learnt: Learnt, data: Data, q: int, p: int, n: int, rate: np.float32, parts: Any
) -> None:
    """``alpha += rate q'(d+ - d-)``."""
    if rate != 0:
        more = total_of(same_words(data, q, p) - same_words(data, q, n), parts)
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(learnt.diagonal, 0, rate * more)


@device
def weights_part(learnt: Learnt, data: Data, q: int, d: int) -> Any:
    """Score ``sum_i D_i q_i d_i``, the part of this thread."""
    documents = data.diagonal_documents
    total = np.float32(0)
    start = documents.indptr[d] + cuda.threadIdx.x
    for t in range(start, documents.indptr[d + 1], cuda.blockDim.x):
        i = documents.indices[t]
        total += learnt.diagonal[i] * query_weight(data, q, i) * documents.data[t]
    return total


@device
def weights_step(
    learnt: Learnt, data: Data, q: int, p: int, n: int, rate: np.float32, parts: Any
) -> None:
    """``D_i += rate q_i (d+_i - d-_i)``."""
    documents = data.diagonal_documents
    for slot in range(2):
        d, signed = (n, -rate) if slot else (p, rate)
        start = documents.indptr[d] + cuda.threadIdx.x
        for t in range(start, documents.indptr[d + 1], cuda.blockDim.x):
            i = documents.indices[t]
            x = query_weight(data, q, i)
            if x != 0:
                cuda.atomic.add(learnt.diagonal, i, signed * x * documents.data[t])
        # Another thread may have the same word of d-: the order of one block is not open.
        cuda.syncthreads()


DIAGONALS = {
    "none": (no_diagonal_part, no_diagonal_step),
    "alpha": (alpha_part, alpha_step),
    "weights": (weights_part, weights_step),
}
"""Kind of diagonal, as of `forms.DIAGONALS` -> (part of a score, step)."""


@cache
def kernel_of(diagonal: str, threads: int) -> Any:
    """Return the sweep of ``U'V`` and a kind of diagonal, for blocks of so many threads.

    It is called as ``sweep[blocks, threads](learnt, data, work, n_documents, states, settings,
    totals, stepped, steps)`` with arrays of the device.

    Parameters
    ----------
    diagonal : str
        Key of `DIAGONALS`.
    threads : int
        A power of two.

    Notes
    -----
    ``work`` float32 (blocks, 3, padded N) is scratch; ``states`` uint64 (blocks, 1, 8) and
    ``totals`` float64 (blocks, 1, 8) have a line for each block; ``steps`` are those of all blocks
    together. The rows of ``data.diagonal_queries`` are sorted.
    """
    part, diagonal_step = DIAGONALS[diagonal]

    @cuda.jit
    def sweep(
        learnt: Learnt,
        data: Data,
        work: Any,
        n_documents: int,
        states: Any,
        settings: Settings,
        totals: Any,
        stepped: Stepped,
        steps: int,
    ) -> None:
        block, first = cuda.blockIdx.x, cuda.threadIdx.x == 0
        drawn = cuda.shared.array(3, np.int64)
        parts = cuda.shared.array(threads, np.float32)
        state, total = states[block, 0], totals[block, 0]
        query, positive, negative = work[block, 0], work[block, 1], work[block, 2]
        share = steps // cuda.gridDim.x
        if block < steps % cuda.gridDim.x:
            share += 1
        for _ in range(share):
            if first:
                pair = below(state, data.pairs.shape[0])
                drawn[0], drawn[1] = data.pairs[pair, 0], data.pairs[pair, 1]
            cuda.syncthreads()
            q, p = drawn[0], drawn[1]
            n: Any = np.int64(-1)
            gather(learnt.U, data.queries, q, query)
            gather(learnt.V, data.documents, p, positive)
            high = total_of(dot(query, positive) + part(learnt, data, q, p), parts)
            hinge = np.float32(0)
            for trial in range(settings.negatives):
                if first:
                    drawn[2] = draw_negative(data, n_documents, q, state)
                cuda.syncthreads()
                if drawn[2] < 0:
                    break
                n = drawn[2]
                gather(learnt.V, data.documents, n, negative)
                low = total_of(dot(query, negative) + part(learnt, data, q, n), parts)
                hinge = settings.margin - high + low
                if first and trial == 0 and hinge > 0:
                    total[HINGE] += hinge
                if hinge > 0:
                    break
            if n < 0:
                if first:
                    total[SKIPPED] += 1
            elif hinge > 0:
                if first:
                    total[VIOLATED] += 1
                    stepped.queries[q] = True
                    stepped.documents[p] = True
                    stepped.documents[n] = True
                # As of `forms.low_rank_step`: all with the values before the step.
                for r in range(cuda.threadIdx.x, query.shape[0], cuda.blockDim.x):
                    negative[r] = positive[r] - negative[r]
                scatter(learnt.U, data.queries, q, settings.rate, negative)
                scatter(learnt.V, data.documents, p, settings.rate, query)
                scatter(learnt.V, data.documents, n, -settings.rate, query)
                diagonal_step(learnt, data, q, p, n, settings.diagonal_rate, parts)
            # What one thread has drawn, or added to the diagonal, another reads next.
            cuda.syncthreads()
        if first:
            total[TRIPLES] += share

    return sweep
