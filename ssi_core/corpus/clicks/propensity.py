"""How often a position is looked at, estimated from the log itself.

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

from ssi_core.types import BadInput, Float64

_ROUNDS, _CLOSE = 10_000, 1e-9


def estimate_propensities(shown: pl.DataFrame, where: str = "the log") -> pl.DataFrame:
    """Estimate how often each position is examined, as a share of the first.

    Parameters
    ----------
    shown : page, ad, position (from 1), shown and clicks (counts); a row per triple
    where : begins messages

    Returns
    -------
    frame of position, propensity (1 at position 1; null where the log cannot tell), shown, clicks
    (of all pairs), pairs (that were shown there and elsewhere, with a click)

    Raises
    ------
    BadInput
        Nothing joins the first position to others: no pair with a click was shown at both.
    """
    pair = pl.struct("page", "ad")
    useful = shown.filter(
        (pl.col("position").n_unique().over("page", "ad") > 1)
        & (pl.col("clicks").sum().over("page", "ad") > 0)
    ).with_columns(pair=pair.rank("dense").cast(pl.Int64) - 1)
    positions = np.sort(useful["position"].unique().to_numpy())
    if not len(positions) or positions[0] != 1:
        raise BadInput(
            f"{where}: propensities cannot be estimated: no pair of a page and an ad that was "
            "clicked was shown at the first position and at another. Give a longer log, or use "
            "the clicks of the first position (--clicks first)."
        )
    row = useful["pair"].to_numpy()
    column = np.searchsorted(positions, useful["position"].to_numpy())
    size = (int(row.max()) + 1, len(positions))
    number, clicks = (
        sparse.csr_array((useful[name].to_numpy().astype(np.float64), (row, column)), shape=size)
        for name in ("shown", "clicks")
    )
    theta = _theta(number, clicks)
    theta[~_joined(number)] = np.nan
    found = pl.DataFrame(
        {
            "position": positions.astype(np.int32),
            "propensity": theta,
            "pairs": np.bincount(column, minlength=len(positions)),
        }
    )
    totals = shown.group_by("position").agg(pl.col("shown", "clicks").sum())
    return (
        totals.join(found, on="position", how="left")
        .with_columns(pl.col("propensity").fill_nan(None), pl.col("pairs").fill_null(0))
        .select("position", "propensity", "shown", "clicks", "pairs")
        .sort("position")
    )


def _theta(number: sparse.csr_array, clicks: sparse.csr_array) -> Float64:
    """Go round the two equations until theta stands still."""
    of_pair, of_position = (np.asarray(clicks.sum(axis=axis)).ravel() for axis in (1, 0))
    theta = np.ones(number.shape[1])
    if of_position[0] == 0:
        return np.full(len(theta), np.nan)
    for _ in range(_ROUNDS):
        gamma = of_pair / np.maximum(number @ theta, 1e-300)
        new = of_position / np.maximum(number.T @ gamma, 1e-300)
        new /= new[0]
        done = np.max(np.abs(new - theta)) < _CLOSE
        theta = new
        if done:
            break
    return theta


def _joined(number: sparse.csr_array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell the positions that a chain of pairs leads to from the first."""
    pattern = number.astype(bool).astype(np.float64)
    _, component = connected_components(pattern.T @ pattern, directed=False)
    joined: np.ndarray[tuple[int], np.dtype[np.bool_]] = component == component[0]
    return joined
