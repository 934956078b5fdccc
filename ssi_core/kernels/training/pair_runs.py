"""The sweep of a dense or a sparse W by runs of pairs of one query, whose rows are met once a run.

With ``v = W'q`` a document costs ``|d|``, not ``|q| |d|``. All steps of a run move the rows of W
along one direction, each row by its word's weight in the query, so that v follows without them::

    W_st += rate q_s (d+ - d-)_t,   v_t += rate m_t (d+ - d-)_t,   m_t = sum of q_s^2

over the words s whose ``W_st`` is learnt. The rows are written at the end of the run,
``W_st += q_s g_t`` with g the sum of its ``rate (d+ - d-)``: up to rounding, what the steps of
`pair_forms` make of the same triples one by one. Pairs are drawn as in `block`: runs uniformly, and
a run begins at a random pair of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ssi_core.kernels import part, part_fast
from ssi_core.kernels.sparse import Csr, dot_spread
from ssi_core.kernels.training.forms import DIAGONALS
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import HINGE, SKIPPED, TRIPLES, VIOLATED, Turn
from ssi_core.kernels.training.warp import rank_weight

_COLUMNS = 2048
"""Columns of a block of rows: their sums stay in the nearest cache."""


@part_fast
def _add_four(out: Any, x: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    for r in range(out.shape[0]):
        out[r] += x[0] * a[r] + x[1] * b[r] + x[2] * c[r] + x[3] * d[r]


@part_fast
def _add(out: Any, x: np.float32, row: Any) -> None:
    for r in range(out.shape[0]):  # a row of scratch may be longer
        out[r] += x * row[r]


@part
def _dense_meet(W: Any, queries: Csr, q: int, v: Any, m: Any) -> None:
    """``v = W'q`` by blocks of columns, four rows at once; ``m = |q|^2``."""
    first, last, words = queries.indptr[q], queries.indptr[q + 1], queries.indices
    x = queries.data
    square = np.float32(0)
    for i in range(first, last):
        square += x[i] * x[i]
    m[:] = square
    v[:] = 0
    for start in range(0, W.shape[1], _COLUMNS):
        end = min(W.shape[1], start + _COLUMNS)
        out, i = v[start:end], first
        while i + 4 <= last:
            _add_four(
                out,
                (x[i], x[i + 1], x[i + 2], x[i + 3]),
                W[words[i], start:end],
                W[words[i + 1], start:end],
                W[words[i + 2], start:end],
                W[words[i + 3], start:end],
            )
            i += 4
        while i < last:
            _add(out, x[i], W[words[i], start:end])
            i += 1


@part
def _dense_write(W: Any, queries: Csr, q: int, g: Any) -> None:
    """``W_st += q_s g_t``."""
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        _add(W[queries.indices[i]], queries.data[i], g)


@part
def _zero_diagonal_meet(W: Any, queries: Csr, q: int, v: Any, m: Any) -> None:
    """``v = W'q``; ``m_t = |q|^2 - q_t^2``, for ``W_tt`` stays zero."""
    _dense_meet(W, queries, q, v, m)
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        m[queries.indices[i]] -= queries.data[i] * queries.data[i]


@part
def _zero_diagonal_write(W: Any, queries: Csr, q: int, g: Any) -> None:
    """``W_st += q_s g_t``, then ``W_ss = 0`` again."""
    _dense_write(W, queries, q, g)
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        s = queries.indices[i]
        W[s, s] = 0


@part_fast
def _sparse_meet(W: Csr, queries: Csr, q: int, v: Any, m: Any) -> None:
    """``v = W'q`` and ``m_t``, over the pattern of W."""
    v[:] = 0
    m[:] = 0
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        s, x = queries.indices[i], queries.data[i]
        for e in range(W.indptr[s], W.indptr[s + 1]):
            t = W.indices[e]
            v[t] += x * W.data[e]
            m[t] += x * x


@part
def _sparse_write(W: Csr, queries: Csr, q: int, g: Any) -> None:
    """``W_st += q_s g_t`` over the pattern of W."""
    for i in range(queries.indptr[q], queries.indptr[q + 1]):
        s, x = queries.indices[i], queries.data[i]
        for e in range(W.indptr[s], W.indptr[s + 1]):
            W.data[e] += x * g[W.indices[e]]


@part
def _move(documents: Csr, d: int, rate: np.float32, v: Any, m: Any, g: Any) -> None:
    """Take one document's part of a step in v and in g."""
    for i in range(documents.indptr[d], documents.indptr[d + 1]):
        t, change = documents.indices[i], rate * documents.data[i]
        v[t] += m[t] * change
        g[t] += change


RUNS = {
    "dense": (_dense_meet, _dense_write),
    "zero_diagonal": (_zero_diagonal_meet, _zero_diagonal_write),
    "sparse": (_sparse_meet, _sparse_write),
}
"""Form of W -> (meet, write)."""


def sweep_in_runs(form: str, diagonal: str, draw: Callable[..., Any]) -> Callable[..., None]:
    """Return a sweep as that of `sweep.kernel_of`, of runs (`structs.Data`) of one query."""
    meet, write = RUNS[form]
    diagonal_query, diagonal_document, diagonal_step, diagonal_clear = DIAGONALS[diagonal]

    @part
    def sweep(turn: Turn, steps: int) -> None:
        parameters, data, work, n_documents, state, settings, totals, stepped = turn
        v, m, g = work.query, work.documents[0], work.direction
        # Numbers, for numba compiles what it calls once for each literal.
        zero: Any = np.int64(0)
        one: Any = np.int64(1)
        left = steps
        while left > 0:
            run = below(state, data.runs.shape[0] - 1)
            first, length = data.runs[run], data.runs[run + 1] - data.runs[run]
            offset = below(state, length)
            q: Any = np.int64(data.pairs[first, 0])
            meet(parameters.W, data.queries, q, v, m)
            diagonal_query(parameters, data, work, q)
            violated = 0
            count = min(length, left)
            left -= count
            for k in range(count):
                p: Any = np.int64(data.pairs[first + (offset + k) % length, 1])
                n: Any = np.int64(-1)
                positive = dot_spread(data.documents, p, v)
                positive += diagonal_document(parameters, data, work, p, zero)
                hinge = np.float32(0)
                tried = 0
                for trial in range(settings.negatives):
                    drawn = draw(data, n_documents, q, state)
                    if drawn < 0:
                        break
                    n, tried = drawn, trial + 1
                    score = dot_spread(data.documents, n, v)
                    score += diagonal_document(parameters, data, work, n, one)
                    hinge = settings.margin - positive + score
                    if trial == 0:
                        totals[HINGE] += max(0.0, hinge)
                    if hinge > 0:
                        break
                if n < 0:
                    totals[SKIPPED] += 1
                elif hinge > 0:
                    violated += 1
                    stepped.queries[q] = stepped.documents[p] = stepped.documents[n] = True
                    rate, diagonal_rate = settings.rate, settings.diagonal_rate
                    if settings.warp:
                        weight = rank_weight(n_documents, tried)
                        rate, diagonal_rate = weight * rate, weight * diagonal_rate
                    _move(data.documents, p, rate, v, m, g)
                    _move(data.documents, n, -rate, v, m, g)
                    diagonal_step(parameters, data, work, q, p, n, diagonal_rate)
            if violated:
                write(parameters.W, data.queries, q, g)
                g[:] = 0
                totals[VIOLATED] += violated
            diagonal_clear(data, work, q)
        totals[TRIPLES] += steps

    return sweep
