"""The sweep of ``U'V`` with several d- for each pair (q, d+), which are stepped against together.

``U q``, ``V d+`` and their rows are read and written once for all triples of a pair. The step is
that of the sum of their hinges, with the values before it in all of its parts::

    U += rate sum_j V (d+ - d-_j) q',   V += rate U q sum_j (d+ - d-_j)',   j: those that violate
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ssi_core.kernels import part, part_fast
from ssi_core.kernels.sparse import scatter
from ssi_core.kernels.training.forms import DIAGONALS, low_rank_document, low_rank_query
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import Turn, Work
from ssi_core.kernels.training.totals import HINGE, SKIPPED, TRIPLES, VIOLATED


def sweep_with(diagonal: str, draw: Callable[..., Any]) -> Callable[..., None]:
    """Return a sweep as that of `sweep.kernel_of`: ``settings.negatives`` d- are drawn for a pair.

    Those drawn twice count twice, and the last pair has as many as are left of the steps, each of
    which is a triple.
    """
    diagonal_query, diagonal_document, diagonal_step, diagonal_clear = DIAGONALS[diagonal]

    @part
    def sweep(turn: Turn, steps: int) -> None:
        parameters, data, work, n_documents, state, settings, totals, stepped = turn
        # Numbers, for numba compiles what it calls once for each literal.
        zero: Any = np.int64(0)
        one: Any = np.int64(1)
        left = steps
        while left > 0:
            count = min(left, int(settings.negatives))
            left -= count
            pair = below(state, data.pairs.shape[0])
            q: Any = np.int64(data.pairs[pair, 0])
            p: Any = np.int64(data.pairs[pair, 1])
            low_rank_query(parameters, data, work, q)
            diagonal_query(parameters, data, work, q)
            same = diagonal_document(parameters, data, work, p, zero)
            positive = low_rank_document(parameters, data, work, p, zero) + same
            work.direction[:] = 0
            violating = 0
            for _ in range(count):
                n: Any = np.int64(draw(data, n_documents, q, state))
                if n < 0:
                    totals[SKIPPED] += 1
                    continue
                score = low_rank_document(parameters, data, work, n, one)
                other = diagonal_document(parameters, data, work, n, one)
                hinge = settings.margin - positive + score + other
                totals[HINGE] += max(0.0, hinge)
                if hinge > 0:
                    work.violating[violating] = n
                    violating += 1
                    _add_difference(work)
            if violating > 0:
                rate = settings.rate
                stepped.queries[q] = stepped.documents[p] = True
                scatter(parameters.U, data.queries, q, rate, work.direction)
                many = np.float32(violating) * rate
                scatter(parameters.V, data.documents, p, many, work.query)
                for j in range(violating):
                    n = work.violating[j]
                    stepped.documents[n] = True
                    scatter(parameters.V, data.documents, n, -rate, work.query)
                    if settings.diagonal_rate != 0:
                        # The step reads what was found of d- last.
                        diagonal_document(parameters, data, work, n, one)
                        diagonal_step(parameters, data, work, q, p, n, settings.diagonal_rate)
            totals[VIOLATED] += violating
            diagonal_clear(data, work, q)
        totals[TRIPLES] += steps

    return sweep


@part_fast
def _add_difference(work: Work) -> None:
    """Add ``V (d+ - d-)`` to the direction of U."""
    for r in range(work.direction.shape[0]):
        work.direction[r] += work.documents[0, r] - work.documents[1, r]
