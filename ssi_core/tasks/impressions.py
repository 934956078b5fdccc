"""Count how often each document was shown for each query, and how often it was looked at there.

Where weights are by propensities, slates that nobody clicked in count as well. They are read part
by part, as most logs have many more of them than of others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.types import BadInput, Weights

WEIGHTS: dict[str, Weights] = {"weighted": "relevance", "inverse": "shown"}
"""``--clicks`` of an ingestion -> what the weights of its pairs are; others: "clicks"."""
_UNCLICKED, _PROPENSITIES = "unclicked", "propensities.parquet"
_AGAIN = "Remove the collection and ingest it again."


def count_impressions(
    clicks: Path, rows: pl.DataFrame, prepare: Callable[[pl.DataFrame], pl.DataFrame]
) -> pl.DataFrame:
    """Count the showings of each pair on each side; positions without a propensity do not count.

    Parameters
    ----------
    clicks : Path
        Directory of the clicks.
    rows : DataFrame
        Side, q, query, d, position of the slates that were clicked in.
    prepare : callable
        Gives impressions of other slates these columns.

    Returns
    -------
    frame of side, q, query, d, shown (showings), looks (sum of their propensities), sorted
    """
    unclicked = files.parts_in(clicks / _UNCLICKED)
    if not unclicked:
        raise BadInput(f"{clicks}: it has no slates without a click, which count here. {_AGAIN}")
    with files.reading(clicks / _PROPENSITIES, _AGAIN):
        table = pl.read_parquet(clicks / _PROPENSITIES, glob=False)
        propensities = table.select("position", looks="propensity").drop_nulls()
    sums = _count(rows, propensities)
    for part in unclicked:
        with files.reading(part, _AGAIN):
            others = pl.read_parquet(part, glob=False)
        sums = _sum([sums, _count(prepare(others), propensities)])
    return sums.sort("side", "q", "d")


def _count(rows: pl.DataFrame, propensities: pl.DataFrame) -> pl.DataFrame:
    seen = rows.join(propensities, on="position")
    return _sum([seen.select("side", "q", "query", "d", "looks", shown=pl.lit(1, pl.Int64))])


def _sum(frames: list[pl.DataFrame]) -> pl.DataFrame:
    pairs = pl.concat(frames).group_by("side", "q", "query", "d")
    return pairs.agg(pl.col("shown", "looks").sum())
