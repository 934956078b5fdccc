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

from ssi_core.kernels.examination import count_rows
from ssi_core.types import Float64, Int32, Int64


class Counts(NamedTuple):
    """Counts of a log, summed over its sessions.

    Attributes
    ----------
    shown, clicks : float64 (cells,)
        Showings and clicks of each cell.
    visits : float64 (pages,)
        Visits to each page.
    """

    shown: Float64
    clicks: Float64
    visits: Float64


@dataclass(frozen=True)
class ClickLog:
    """Rows of a log, of which each belongs to a cell: a page, an ad, a position.

    Attributes
    ----------
    cells : DataFrame
        Frame of page, ad, position Distinct and sorted: cell i is row i.
    pages : Series
        Series Distinct pages, sorted.
    cell, clicked : int32, bool (rows,)
        The rows, those of a session side by side.
    start : int64 (sessions + 1,)
        Where the rows of each session begin.
    visited, visitor : int32 (visits,)
        Page, as a row of ``pages``, and session of each visit.
    """

    cells: pl.DataFrame
    pages: pl.Series
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
        visits = np.bincount(self.visited, times[self.visitor], len(self.pages))
        return Counts(shown, clicks, visits.astype(np.float64, copy=False))


def read_log(rows: pl.DataFrame) -> ClickLog:
    """Make a `ClickLog` of impressions.

    Parameters
    ----------
    rows : DataFrame
        Frame of session, page, ad, position, clicked A row for each ad that was shown; each ad of a
        slate once. Names may be of any type.
    """
    keys = ["page", "ad", "position"]
    rows = rows.with_columns(session=pl.col("session").rank("dense").cast(pl.Int32) - 1)
    rows = rows.sort("session", "page", "position")
    cells = rows.select(keys).unique().sort(keys)
    cell = rows.join(cells.with_row_index("cell"), on=keys, how="left", maintain_order="left")
    visits = rows.select("session", "page").unique(maintain_order=True)
    pages = rows["page"].unique().sort()
    session = rows["session"].to_numpy()
    return ClickLog(
        cells,
        pages,
        np.array(cell["cell"], np.int32),
        np.array(rows["clicked"], np.bool_),
        np.searchsorted(session, np.arange(session[-1] + 2)),
        np.array(pages.search_sorted(visits["page"]), np.int32),
        np.array(visits["session"], np.int32),
    )
