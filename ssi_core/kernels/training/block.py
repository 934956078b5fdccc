"""The sweep of ``U'V`` in blocks of pairs that share a pool of documents d-.

``V d-`` of P random documents, the pool, is computed once a block, and so is a table of their words
in the view of the diagonal. The pairs of a block come in runs of one query, drawn uniformly among
all runs (`structs.Data`): ``U q`` and the products of q with the pool's words are computed once a
run. A pair meets the pool from a random start with a random odd stride, so that it meets each
document once, in an order of its own, until one violates the margin, as `sweep.kernel_of` draws
them.

A step is that of `forms.low_rank_step`. ``U q`` and the ``V d-`` of the step are corrected by what
it adds to them; the rows of U are written once a run, those of V of a d- once a block::

    U q += rate |q|^2 V (d+ - d-),   V d- -= rate |d-|^2 U q

So ``V d+`` lacks what its block added to V by way of d-, and ``V`` of the other documents of the
pool what the block added at all: P pairs at most.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ssi_core.kernels import part, part_fast
from ssi_core.kernels.sparse import Csr, contains, dot, gather, scatter
from ssi_core.kernels.training.pooled import POOLED, Pool, forget
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import (
    HINGE,
    SKIPPED,
    TRIPLES,
    VIOLATED,
    Data,
    Parameters,
    Turn,
    Work,
)
from ssi_core.kernels.training.warp import rank_weight


@part
def _square(rows: Csr, row: int) -> np.float32:
    """Return the squared length of a row."""
    total = np.float32(0)
    for t in range(rows.indptr[row], rows.indptr[row + 1]):
        total += rows.data[t] * rows.data[t]
    return total


@part_fast
def _step(work: Work, j: int, rate: np.float32, square: np.float32, of_query: np.float32) -> None:
    """Move ``U q``, ``V d-`` and what is yet to be written, all from their old values.

    ``square`` and ``of_query`` are the squared lengths of d- and of q.
    """
    query, positive, pool = work.query, work.documents[0], work.pool
    pool.moved[j] = True
    for r in range(query.shape[0]):
        old, difference = query[r], rate * (positive[r] - pool.hats[j, r])
        pool.moves[j, r] -= rate * old
        pool.hats[j, r] -= rate * square * old
        work.direction[r] += difference
        query[r] += of_query * difference


@part
def _write(parameters: Parameters, data: Data, pool: Pool) -> None:
    """Change V by what the pool's documents were moved by."""
    for j in range(pool.documents.shape[0]):
        if pool.moved[j]:
            scatter(parameters.V, data.documents, pool.documents[j], np.float32(1), pool.moves[j])
            pool.moves[j] = 0
            pool.moved[j] = False


def sweep_in_blocks(diagonal: str, *, weighted: bool) -> Callable[..., None]:
    """Return a sweep as that of `sweep.kernel_of`; a triple is a pair and the d- that it tries.

    A block ends with the run in which it has P pairs, and with the sweep. If ``weighted``, the
    pool is drawn from ``data.candidates``.
    """
    tabulate, untabulate, begin, same, other, diagonal_step, end = POOLED[diagonal]

    @part
    def sweep(turn: Turn, steps: int) -> None:
        parameters, data, work, n_documents, state, settings, totals, stepped = turn
        pool = work.pool
        size = pool.documents.shape[0]
        drawn_from = data.candidates.shape[0] if weighted else n_documents
        forget(pool)
        left = steps
        while left > 0:
            for j in range(size):
                drawn: Any = np.int64(below(state, drawn_from))
                pool.documents[j] = np.int64(data.candidates[drawn]) if weighted else drawn
                gather(parameters.V, data.documents, pool.documents[j], pool.hats[j])
            tabulate(data, pool)
            block = min(size, left)
            while block > 0:
                run = below(state, data.runs.shape[0] - 1)
                first, length = data.runs[run], data.runs[run + 1] - data.runs[run]
                offset = below(state, length)
                q: Any = np.int64(data.pairs[first, 0])
                gather(parameters.U, data.queries, q, work.query)
                square = _square(data.queries, q)
                begin(parameters, data, work, q)
                work.direction[:] = 0
                violated = 0
                count = min(length, left)
                left, block = left - count, block - count
                for k in range(count):
                    pair = first + (offset + k) % length
                    p: Any = np.int64(data.pairs[pair, 1])
                    gather(parameters.V, data.documents, p, work.documents[0])
                    positive = dot(work.query, work.documents[0])
                    positive += same(parameters, data, work, pair, p)
                    j = below(state, size)
                    stride = 2 * below(state, size // 2) + 1
                    tried = 0
                    hinge = np.float32(0)
                    for _ in range(size):
                        n: Any = pool.documents[j]
                        if not contains(data.barred_indptr, data.barred_indices, q, n):
                            tried += 1
                            score = dot(work.query, pool.hats[j])
                            score += other(parameters, data, work, j)
                            hinge = settings.margin - positive + score
                            if tried == 1:
                                totals[HINGE] += max(0.0, hinge)
                            if hinge > 0 or tried == settings.negatives:
                                break
                        j = (j + stride) % size
                    if tried == 0:
                        totals[SKIPPED] += 1
                    elif hinge > 0:
                        n = pool.documents[j]
                        violated += 1
                        stepped.queries[q] = stepped.documents[p] = stepped.documents[n] = True
                        rate, diagonal_rate = settings.rate, settings.diagonal_rate
                        if settings.warp:
                            weight = rank_weight(n_documents, tried)
                            rate, diagonal_rate = weight * rate, weight * diagonal_rate
                        scatter(parameters.V, data.documents, p, rate, work.query)
                        _step(work, j, rate, _square(data.documents, n), square)
                        diagonal_step(parameters, data, work, p, j, diagonal_rate)
                if violated:
                    scatter(parameters.U, data.queries, q, np.float32(1), work.direction)
                    totals[VIOLATED] += violated
                end(data, work, q)
            untabulate(data, pool)
            _write(parameters, data, pool)
        totals[TRIPLES] += steps

    return sweep
