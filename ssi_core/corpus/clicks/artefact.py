"""The tables of a ``clicks`` artefact.

A directory with

- ``pages/`` and ``ads/``: ordinary corpora; without ``ads/``, what is clicked are pages, too
- ``impressions/part-*.parquet``: `IMPRESSIONS`, the slates that were clicked in; empty where the
  log tells of pairs only
- ``pairs.parquet``: `PAIRS`, what was clicked where, and with what weight
- ``unclicked/part-*.parquet``: `IMPRESSIONS`, the slates that nobody clicked in, where weights
  are by propensities: all showings of a pair count then. ``time`` is that of the slate's first row
- ``propensities.parquet``: with these weights, see `propensity`
- ``slates.parquet``: `SLATES`, where a page shows the same whenever it is shown; the impressions
  are then the clicked ones only
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import polars as pl

KIND = "clicks"
Split: TypeAlias = Literal["pairs", "sessions", "time"]

IMPRESSIONS: dict[str, Any] = {
    "session": pl.String(), "user": pl.String(), "page": pl.String(), "ad": pl.String(),
    "position": pl.Int32(), "clicked": pl.Boolean(), "time": pl.Datetime("us", "UTC"),
    "weight": pl.Float64(), "goal": pl.String(),
}  # fmt: skip
"""Schema of ``impressions/part-*.parquet``. ``position`` is null where it is not known, ``weight``
is what the row counts as a click (1 where the weight of a pair is its relevance), ``goal`` the page
that the user looks for, if that is known."""
PAIRS: dict[str, Any] = {
    "page": pl.String(), "ad": pl.String(), "shown": pl.Int64(), "clicks": pl.Int64(),
    "weight": pl.Float64(), "grade": pl.Float64(),
}  # fmt: skip
"""Schema of ``pairs.parquet``: distinct pairs with a click that counts, sorted. ``shown`` counts
every showing that could have counted, ``clicks`` those clicked. ``weight`` is the sum of
the clicks' weights, or the relevance (`rules`); ``grade`` the judges' mean, null where there was
none.

Of a log of pairs (counts, judgements) it is all that is known, so that pairs of weight 0 are there,
too: shown and not clicked, or judged and not relevant. ``shown`` is null where it is not known."""
SLATES: dict[str, Any] = {"page": pl.String(), "ad": pl.String()}
"""Schema of ``slates.parquet``: distinct, sorted."""
