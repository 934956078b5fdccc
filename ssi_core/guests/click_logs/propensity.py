"""Propensities: the chance that a user looks at a position, estimated from the log itself.

The position-based model (Richardson, Dominowska and Ragno 2007): an ad ``a`` on a page ``p`` at
position ``k`` is clicked with probability ``theta_k * gamma_pa``, examination times relevance. A
pair (p, a) that was shown at several positions is an experiment on the positions (intervention
harvesting: Agarwal, Zaitsev, Wang, Li, Najork and Joachims 2019). Given the clicks of each pair,
how they spread over its positions depends on theta alone; the maximum of that likelihood, a Poisson
regression with an effect for each pair, is where

    theta_k  = sum_pa clicks_pak / sum_pa shown_pak gamma_pa
    gamma_pa = sum_k  clicks_pak / sum_k  shown_pak theta_k

It is consistent however many pairs there are and however few showings each has, whatever the
distribution of the clicks (Wooldridge 1999). No feature of page or ad is modelled, so none can be
wrong. What is assumed: examination depends on the position alone, relevance on the pair alone, and
a pair's position varies for reasons that are not its relevance at that moment (bids, tests, other
ads); all slates are in the log, those without a click too.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ssi_core.kernels.ranking.examination import fit_examination
from ssi_core.remedies import typed
from ssi_core.types import BadInput, Float64, Int32, Int64

_ROUNDS, _CLOSE = 10_000, 1e-9


def estimate_propensities(shown: pl.DataFrame, where: str = "the log") -> pl.DataFrame:
    """Estimate how often each position is examined, as a share of the first.

    Parameters
    ----------
    shown : DataFrame
        Query, document, position (from 1), shown and clicks (counts); a row per triple.
    where : str
        Begins messages.

    Returns
    -------
    DataFrame
        position, propensity (1 at position 1; null where the log cannot tell), shown and clicks of
        all pairs, and pairs: the number of clicked pairs shown there and elsewhere.

    Raises
    ------
    BadInput
        Nothing joins the first position to others: no pair with a click was shown at both.
    """
    pair = pl.struct("query", "document")
    useful = shown.filter(
        (pl.col("position").n_unique().over("query", "document") > 1)
        & (pl.col("clicks").sum().over("query", "document") > 0)
    ).with_columns(pair=pair.rank("dense").cast(pl.Int64) - 1)
    positions = np.sort(useful["position"].unique().to_numpy())
    if not len(positions) or positions[0] != 1:
        raise BadInput(
            f"{where}: propensities cannot be estimated: no pair of query and document that was "
            "clicked was shown at the first position and at another. Give a longer log, or use "
            f"the clicks of the first position ({typed('clicks', 'first')})."
        )
    useful = useful.sort("pair", "position")
    row = useful["pair"].to_numpy()
    column = np.searchsorted(positions, useful["position"].to_numpy()).astype(np.int32)
    theta = _theta(useful, row, column)
    size = (int(row[-1]) + 1, len(positions))
    theta[~_joined(sparse.csr_array((np.ones(len(row)), (row, column)), shape=size))] = np.nan
    propensities = pl.DataFrame(
        {
            "position": positions.astype(np.int32),
            "propensity": theta,
            "pairs": np.bincount(column, minlength=len(positions)),
        }
    )
    totals = shown.group_by("position").agg(pl.col("shown", "clicks").sum())
    return (
        totals.join(propensities, on="position", how="left")
        .with_columns(pl.col("propensity").fill_nan(None), pl.col("pairs").fill_null(0))
        .select("position", "propensity", "shown", "clicks", "pairs")
        .sort("position")
    )


def _theta(useful: pl.DataFrame, row: Int64, column: Int32) -> Float64:
    """Fit theta to cells that are sorted by pair; NaN where no click is in the first position."""
    shown, clicks = (np.array(useful[name], np.float64) for name in ("shown", "clicks"))
    theta = np.ones(int(column.max()) + 1)
    if not clicks[column == 0].any():
        return np.full(len(theta), np.nan)
    start = np.searchsorted(row, np.arange(int(row[-1]) + 2))
    fit_examination(shown, clicks, start, column, theta, _ROUNDS, _CLOSE)
    return theta


def _joined(pattern: sparse.csr_array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell the positions that a chain of pairs leads to from the first."""
    _, component = connected_components(pattern.T @ pattern, directed=False)
    joined: np.ndarray[tuple[int], np.dtype[np.bool_]] = component == component[0]
    return joined
