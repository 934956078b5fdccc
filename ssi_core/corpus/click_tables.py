"""Tables of clicks inside a collection.

Where documents are clicked on documents, these are the queries. Beside the texts there are

- ``impressions/``: `IMPRESSIONS`, the slates that were clicked in; empty where the log tells of
  pairs only
- the relation ``click``: `CLICKS`, what was clicked where, and with what weight
- the relation ``shown``, where a query shows the same whenever it is asked; the impressions are
  then the clicked ones only
- ``unclicked/``: `IMPRESSIONS`, the slates that nobody clicked in, where weights are by
  propensities: all showings of a pair count then. ``timestamp`` is that of the slate's first row
- ``propensities.parquet``: with these weights, see `propensity`
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from ssi_core import collection

IMPRESSIONS: dict[str, Any] = {
    "event": pl.Int64(), "session": pl.String(), "query": pl.String(), "document": pl.String(),
    "position": pl.Int32(), "clicked": pl.Boolean(), "weight": pl.Float64(),
    "timestamp": pl.Datetime("us", "UTC"), "user": pl.String(), "goal": pl.String(),
}  # fmt: skip
"""Schema of ``impressions/part-*.parquet``. ``event`` numbers the slates, ``weight`` is what the
row counts as a click (1 where the weight of a pair is its relevance), ``goal`` the document that
the user looks for. What is not known of a row is null."""
CLICKS: dict[str, Any] = {
    "shown": pl.Int64(), "clicks": pl.Int64(), "weight": pl.Float64(), "grade": pl.Float64(),
}  # fmt: skip
"""Further columns of the relation ``click``: pairs with a click that counts, sorted. ``shown``
counts every showing that could have counted, ``clicks`` those clicked. ``weight`` is the sum of the
clicks' weights, or the relevance (`rules`); ``grade`` the judges' mean, null where there was
none.

Of a log of pairs (counts, judgements) it is all that is known, so that pairs of weight 0 are there,
too: shown and not clicked, or judged and not relevant. ``shown`` is null where it is not known."""


def write_clicks(path: Path, pairs: pl.DataFrame) -> None:
    """Write the relation of clicks: query, document and columns of `CLICKS`, sorted by the ends."""
    with collection.relation_writer(path, collection.CLICK, CLICKS) as writer:
        writer.write(
            pairs.sort("query", "document").rename({"query": "source", "document": "target"})
        )
