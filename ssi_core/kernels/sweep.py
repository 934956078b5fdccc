"""The training sweep: draw triples, test the margin, step. One text serves every form.

`sweep_of` closes over the kernels of a form and of a diagonal; numba then compiles them into one
loop without calls, once per process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit
from ssi_core.kernels.forms import DIAGONALS, FORMS
from ssi_core.kernels.random import below
from ssi_core.kernels.sparse import contains
from ssi_core.kernels.structs import Data, Parameters, Settings, Work

TRIPLES, HINGE, VIOLATED, SKIPPED = range(4)
"""Places in ``totals``: triples drawn, sum of first hinges, steps taken, triples without a d-."""

_DRAWS = 1000  # a query that is linked to nearly every document is given up after so many


@jit
def draw_negative(data: Data, n_documents: int, q: int, state: NDArray[np.uint64]) -> int:
    """Draw a uniform document that is not barred for query ``q``; -1 when none is found."""
    for _ in range(_DRAWS):
        d = below(state, n_documents)
        if not contains(data.barred_indptr, data.barred_indices, q, d):
            return d
    return -1


@jit
def draw_shown(data: Data, n_documents: int, q: int, state: NDArray[np.uint64]) -> Any:
    """Draw from what was shown to query ``q`` (`types.Shown`); any document where nothing was."""
    first, last = data.shown_indptr[q], data.shown_indptr[q + 1]
    if first == last:
        return draw_negative(data, n_documents, q, state)
    return np.int64(data.shown[first + below(state, last - first)])


@jit
def rank_weight(n_documents: int, tried: int) -> np.float32:
    """Return ``L(k) = 1 + 1/2 + ... + 1/k`` at ``k = floor((Y - 1) / n)``.

    k is the rank of d+ among ``Y`` documents as it shows when the n-th d- is the first that
    violates: the rarer they are, the less there is to gain (WARP: Weston, Bengio, Usunier 2011).
    Euler's expansion stands in for more than 16 terms; it is right to 1e-7.
    """
    k = (n_documents - 1) // tried
    if k > 16:
        return np.float32(np.log(k) + 0.5772156649015329 + 1 / (2 * k) - 1 / (12 * k * k))
    total = 0.0
    for j in range(1, k + 1):
        total += 1 / j
    return np.float32(total)


@cache
def sweep_of(
    form: str, diagonal: str, draw: Callable[..., Any] = draw_negative
) -> Callable[..., Any]:
    """Return ``sweep(parameters, data, work, n_documents, state, settings, steps, totals)``.

    Draws ``steps`` training pairs uniformly; for each draws up to ``settings.negatives`` documents
    d- and takes one step on the first that violates ``f(q, d+) > f(q, d-) + margin``, tested with
    the whole f. ``draw`` is `draw_negative` or `draw_shown`. ``state`` uint64 (1,) and the
    parameters change in place; ``totals`` float64 (4,) is added to.
    """
    form_query, form_document, form_step = FORMS[form]
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
        for _ in range(steps):
            pair = below(state, data.pairs.shape[0])
            # int64 like n, so that nothing is compiled twice
            q: Any = np.int64(data.pairs[pair, 0])
            p: Any = np.int64(data.pairs[pair, 1])
            form_query(parameters, data, work, q)
            diagonal_query(parameters, data, work, q)
            positive = form_document(parameters, data, work, p, 0) + diagonal_document(
                parameters, data, work, p, 0
            )
            for trial in range(settings.negatives):
                n = draw(data, n_documents, q, state)
                if n < 0:
                    totals[SKIPPED] += 1
                    break
                hinge = (
                    settings.margin
                    - positive
                    + form_document(parameters, data, work, n, 1)
                    + diagonal_document(parameters, data, work, n, 1)
                )
                if trial == 0:
                    totals[HINGE] += max(0.0, hinge)
                if hinge > 0:
                    totals[VIOLATED] += 1
                    rate, diagonal_rate = settings.rate, settings.diagonal_rate
                    if settings.warp:
                        weight = rank_weight(n_documents, trial + 1)
                        rate, diagonal_rate = weight * rate, weight * diagonal_rate
                    form_step(parameters, data, work, q, p, n, rate)
                    diagonal_step(parameters, data, work, q, p, n, diagonal_rate)
                    break
            diagonal_clear(data, work, q)
        totals[TRIPLES] += steps

    return sweep
