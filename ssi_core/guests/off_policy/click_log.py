"""A click log as counts: how often each ad was shown at each position of each page, and clicked.

A *visit* is a slate: what one session was shown on one page. The unit that is drawn again is the
session, for what one visitor does on several pages may hang together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.kernels.ranking.examination import count_rows
from ssi_core.types import Float64, Int32, Int64


class Counts(NamedTuple):
    """Counts of a log, summed over its sessions.

    Attributes
    ----------
    shown, clicks : float64 (cells,)
        Showings and clicks of each cell.
    visits : float64 (queries,)
        Visits to each query.
    """

    shown: Float64
    clicks: Float64
    visits: Float64


@dataclass(frozen=True)
class ClickLog:
    """Rows of a log, of which each belongs to a cell: a query, a document, a position.

    Attributes
    ----------
    cells : DataFrame
        Columns query, document and position, distinct and sorted: cell i is row i.
    queries : Series
        Distinct queries, sorted.
    cell, clicked : int32, bool (rows,)
        The rows, those of a session side by side.
    start : int64 (sessions + 1,)
        Where the rows of each session begin.
    visited, visitor : int32 (visits,)
        Query, as a row of ``queries``, and session of each visit.
    """

    cells: pl.DataFrame
    queries: pl.Series
    cell: Int32
    clicked: NDArray[np.bool_]
    start: Int64
    visited: Int32
    visitor: Int32

    @property
    def sessions(self) -> int:
        """Number of sessions."""
        return len(self.start) - 1

    def count(self, times: Int64 | None = None) -> Counts:
        """Count the log, each session as often as it is drawn.

        Parameters
        ----------
        times : int64 (sessions,) or None
            How often each session is drawn; None: once.
        """
        times = np.ones(self.sessions, np.int64) if times is None else times
        shown, clicks = np.zeros(len(self.cells)), np.zeros(len(self.cells))
        count_rows(times, self.start, self.cell, self.clicked, shown, clicks)
        visits = np.bincount(self.visited, times[self.visitor], len(self.queries))
        return Counts(shown, clicks, visits.astype(np.float64, copy=False))


def read_log(rows: pl.DataFrame) -> ClickLog:
    """Make a `ClickLog` of impressions.

    Parameters
    ----------
    rows : DataFrame
        Columns session, query, document, position and clicked: a row for each document that was
        shown, each document of a slate once. Names may be of any type.
    """
    keys = ["query", "document", "position"]
    rows = rows.with_columns(session=pl.col("session").rank("dense").cast(pl.Int32) - 1)
    rows = rows.sort("session", "query", "position")
    cells = rows.select(keys).unique().sort(keys)
    cell = rows.join(cells.with_row_index("cell"), on=keys, how="left", maintain_order="left")
    visits = rows.select("session", "query").unique(maintain_order=True)
    queries = rows["query"].unique().sort()
    session = rows["session"].to_numpy()
    return ClickLog(
        cells,
        queries,
        np.array(cell["cell"], np.int32),
        np.array(rows["clicked"], np.bool_),
        np.searchsorted(session, np.arange(session[-1] + 2)),
        np.array(queries.search_sorted(visits["query"]), np.int32),
        np.array(visits["session"], np.int32),
    )
