"""Greedy RankRLS: try a feature, add a feature, each in one pass over the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_making

Reals = NDArray[np.float64]
Rows = NDArray[np.int64]


@jit
def try_features(
    caches: Reals,
    held: Reals,
    dual: Reals,
    residual: Reals,
    start: Rows,
    scale: Reals,
    step: Reals,
    sums: Reals,
    errors: Reals,
) -> None:
    """Write the leave-query-out error of each feature, if that feature were added.

    For query Q and feature i, with ``g = 1 / (-1 / c_i + C_Qi . U_Qi)``, the residual would be
    ``p_Q - U_Qi (d_i + g U_Qi . (a_Q - d_i C_Qi))`` (Pahikkala et al. 2010, Algorithm 1, lines 10
    to 16). O(rows x features).

    Parameters
    ----------
    caches, held : float64 (rows, features)
        C and U of the paper.
    dual, residual : float64 (rows,)
        a and p.
    start : int64 (queries + 1,)
        The rows of query i are ``start[i]:start[i + 1]``.
    scale, step : float64 (features,)
        c and d.
    sums : float64 (4, features)
        Room to work in.
    errors : float64 (features,)
        Written: sums of squared residuals.
    """
    features = caches.shape[1]
    errors[:] = 0
    for i in range(start.shape[0] - 1):
        sums[:] = 0
        before = 0.0
        for row in range(start[i], start[i + 1]):
            a, p = dual[row], residual[row]
            before += p * p
            for f in range(features):
                u = held[row, f]
                sums[0, f] += u * caches[row, f]
                sums[1, f] += u * a
                sums[2, f] += u * p
                sums[3, f] += u * u
        for f in range(features):
            g = 1 / (sums[0, f] - 1 / scale[f])
            moved = step[f] + g * (sums[1, f] - step[f] * sums[0, f])
            errors[f] += before - 2 * moved * sums[2, f] + moved * moved * sums[3, f]


@jit_making
def add_feature(
    caches: Reals,
    held: Reals,
    dual: Reals,
    residual: Reals,
    start: Rows,
    feature: int,
    scale: float,
    step: float,
    change: Reals,
) -> None:
    """Bring C, U, a and p up to date with a feature b that is added, in place.

    With the old a and C: p as in `try_features`, ``U_Q -= U_Qb (t + g U_Qb' (C_Q - C_Qb t))``, then
    ``a -= d C_b`` and ``C -= C_b t``, where ``t = c x_b' C``. Line 28 of the printed algorithm has
    ``C_b C_b'`` in place of ``C_b t``.

    Parameters
    ----------
    caches, held, dual, residual, start : Reals, Reals, Reals, Reals, Rows
        As of `try_features`; all but the last are overwritten.
    feature : int
        b.
    scale, step : float
        c and d of b.
    change : float64 (features,)
        t.
    """
    features = caches.shape[1]
    mixed = np.empty(features)
    for i in range(start.shape[0] - 1):
        first, last = start[i], start[i + 1]
        uc, ua = 0.0, 0.0
        mixed[:] = 0
        for row in range(first, last):
            u = held[row, feature]
            uc += u * caches[row, feature]
            ua += u * dual[row]
            for f in range(features):
                mixed[f] += u * caches[row, f]
        g = 1 / (uc - 1 / scale)
        moved = step + g * (ua - step * uc)
        for f in range(features):
            mixed[f] = change[f] + g * (mixed[f] - uc * change[f])
        for row in range(first, last):
            u, c = held[row, feature], caches[row, feature]
            residual[row] -= moved * u
            dual[row] -= step * c
            for f in range(features):
                held[row, f] -= u * mixed[f]
                caches[row, f] -= c * change[f]
