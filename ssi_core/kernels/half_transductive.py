"""The sweep of half-transductive ranking: a free vector per document, a map of the query.

Two objectives on one triple, each with a hinge of its own (Bai, Weston, Grangier, Collobert,
Cortes, Mohri 2009), here with a diagonal, which the paper has not::

    max(0, m - f(q, d+) + f(q, d-)),   f(q, d) = (W q)' v_d     + sum_i diag_i q_i d_i
    max(0, m - g(q, d+) + g(q, d-)),   g(q, d) = (W q)' (W d)   + sum_i diag_i q_i d_i

The second has weight gamma. Of `Parameters`, ``U`` is W, float32 (words, padded N), and ``V`` are
the free vectors, float32 (documents, padded N).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, part_fast
from ssi_core.kernels.forms import DIAGONALS
from ssi_core.kernels.random import below
from ssi_core.kernels.sparse import dot, gather, scatter
from ssi_core.kernels.structs import Data, Parameters, Work
from ssi_core.kernels.sweep import HINGE, SKIPPED, TRIPLES, VIOLATED, draw_negative


class Settings(NamedTuple):
    """Numbers of a sweep; ``gamma`` 0 leaves the second objective out."""

    margin: np.float32
    rate: np.float32
    diagonal_rate: np.float32
    negatives: np.int64
    gamma: np.float32


@part_fast
def _free_direction(parameters: Parameters, p: int, n: int, out: Any) -> None:
    """``out = v+ - v-``."""
    v = parameters.V
    for r in range(out.shape[0]):
        out[r] = v[p, r] - v[n, r]


@part_fast
def _functional_direction(work: Work, gamma: np.float32, out: Any) -> None:
    """``out += gamma W (d+ - d-)``."""
    for r in range(out.shape[0]):
        out[r] += gamma * (work.documents[0, r] - work.documents[1, r])


@part_fast
def _free_step(parameters: Parameters, work: Work, p: int, n: int, rate: np.float32) -> None:
    """``v+ += rate W q``, ``v- -= rate W q``."""
    v = parameters.V
    for r in range(work.query.shape[0]):
        v[p, r] += rate * work.query[r]
        v[n, r] -= rate * work.query[r]


@cache
def sweep_of(diagonal: str) -> Callable[..., Any]:
    """Return a sweep that is called as `kernels.sweep.sweep_of`'s, with the `Settings` above.

    d- is the first of up to ``negatives`` draws that violates the first hinge, or the last. Both
    hinges are tested, and the step of those that are positive is taken with the values before it.
    ``totals`` counts the first hinge. ``diagonal`` is a key of `DIAGONALS`.
    """
    diagonal_query, diagonal_document, diagonal_step, diagonal_clear = DIAGONALS[diagonal]

    @jit
    def sweep(
        parameters: Parameters,
        data: Data,
        work: Work,
        n_documents: int,
        state: NDArray[np.uint64],
        settings: Settings,
        steps: int,
        totals: NDArray[np.float64],
    ) -> None:
        W, v = parameters.U, parameters.V
        direction = np.zeros_like(work.query)
        for _ in range(steps):
            pair = below(state, data.pairs.shape[0])
            q, p, n = data.pairs[pair, 0], data.pairs[pair, 1], -1
            gather(W, data.queries, q, work.query)
            diagonal_query(parameters, data, work, q)
            same = diagonal_document(parameters, data, work, p, 0)
            positive = same + dot(work.query, v[p])
            hinge = other = np.float32(0)
            for trial in range(settings.negatives):
                drawn = draw_negative(data, n_documents, q, state)
                if drawn < 0:
                    break
                n = drawn
                other = diagonal_document(parameters, data, work, n, 1)
                hinge = settings.margin - positive + other + dot(work.query, v[n])
                if trial == 0:
                    totals[HINGE] += max(0.0, hinge)
                if hinge > 0:
                    break
            if n < 0:
                totals[SKIPPED] += 1
                diagonal_clear(data, work, q)
                continue
            behind = np.float32(0)
            if settings.gamma > 0:
                behind = settings.margin - same + other
                for slot in range(2):
                    gather(W, data.documents, n if slot else p, work.documents[slot])
                    score = dot(work.query, work.documents[slot])
                    behind += score if slot else -score
            if hinge > 0:
                totals[VIOLATED] += 1
                _free_direction(parameters, p, n, direction)
                _free_step(parameters, work, p, n, settings.rate)
                diagonal_step(parameters, data, work, q, p, n, settings.diagonal_rate)
            else:
                direction[:] = 0
            if behind > 0:
                _functional_direction(work, settings.gamma, direction)
                scale = settings.rate * settings.gamma
                for slot in range(2):
                    signed = -scale if slot else scale
                    scatter(W, data.documents, n if slot else p, signed, work.query)
                scale = settings.diagonal_rate * settings.gamma
                diagonal_step(parameters, data, work, q, p, n, scale)
            if hinge > 0 or behind > 0:
                scatter(W, data.queries, q, settings.rate, direction)
            diagonal_clear(data, work, q)
        totals[TRIPLES] += steps

    return sweep
