"""Test whether clicks depend on the documents above, which no estimate of `off_policy` allows for.

The estimators assume that a click depends on page, document and position alone. A visitor who goes
down the list and leaves at a click looks at less where good documents are above. A dependence on
the *clicks* above is no sign of that: where some visitors look deep and others do not, clicks go
together, and the assumption holds on the average of the visitors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ssi_core.guests.off_policy.click_log import ClickLog
from ssi_core.types import Float64, Int64

LIMIT = 3.0
"""|z| beyond which clicks are said to depend on the documents above: one log in 370 by chance."""


@dataclass(frozen=True)
class Above:
    """Dependence of clicks on the documents above.

    Attributes
    ----------
    z : float
        Negative where good documents above take clicks away; standard normal where they do not
        matter, and 0 where the log says nothing.
    p : float
        Probability of a larger ``|z|`` where they do not matter.
    showings : int
        Showings that are compared with others of the same document, position and page.
    """

    z: float
    p: float
    showings: int

    @property
    def dependent(self) -> bool:
        """Tell whether the dependence is beyond chance."""
        return abs(self.z) > LIMIT


def documents_above(log: ClickLog) -> Above:
    """Test whether the clicks of a log depend on the attraction of the documents above.

    Only showings of one document at one position of one page are compared with each other, so that
    the parts of the log count in which the order above it varied, by chance as all estimates have
    it. The attraction of the documents above a showing is the sum of ``(clicks + 1) / (expected +
    1)``, less 1, of each on this page, where the clicks that its positions have on average are
    expected. Each half of the sessions is measured by the clicks of the other half. The sum of the
    products of clicks and attraction, both less their means in the cell and half, is divided by its
    standard error over sessions.

    Parameters
    ----------
    log : ClickLog
        What was shown and clicked, in visits with and without a click.
    """
    rows = np.repeat(np.arange(log.sessions), np.diff(log.start))
    pair, position, query = _numbered(log)
    attraction = np.empty(len(rows))
    for half in (0, 1):
        learnt = _attraction(pair, position, log, rows % 2 != half)
        attraction[rows % 2 == half] = learnt[log.cell[rows % 2 == half]]
    begins = (np.diff(rows, prepend=-1) != 0) | (np.diff(query[log.cell], prepend=-1) != 0)
    sums = np.cumsum(attraction) - attraction
    above = sums - sums[begins][np.cumsum(begins) - 1]
    # Cells of each half, since the halves know different attractions.
    cell = 2 * log.cell.astype(np.int64) + rows % 2
    counts = np.bincount(cell)
    clicks = _apart(log.clicked.astype(np.float64), cell, counts)
    attracted = _apart(above, cell, counts)
    products = clicks * attracted
    # The mean of n clicks is subtracted from each, which takes 1 / n of their variance.
    size = np.sqrt(counts / np.maximum(counts - 1, 1))[cell]
    of_session = np.bincount(rows, products * size, log.sessions)
    error = float(np.sqrt(np.sum(of_session**2)))
    used = int(np.count_nonzero(attracted))
    z = float(products.sum() / error) if error > 0 else 0.0
    return Above(z, float(2 * ndtr(-abs(z))), used)


def _numbered(log: ClickLog) -> tuple[Int64, Int64, Int64]:
    """Return the pair, position and query number of each cell."""
    numbers = []
    for names in (["query", "document"], ["position"], ["query"]):
        one = log.cells.select(names)
        distinct = one.unique(maintain_order=True).with_row_index("number")
        joined = one.join(distinct, on=names, how="left", maintain_order="left")
        numbers.append(np.array(joined["number"], np.int64))
    return numbers[0], numbers[1], numbers[2]


def _attraction(pair: Int64, position: Int64, log: ClickLog, kept: np.ndarray) -> Float64:
    """Estimate the attraction of each cell's document from the kept rows."""
    cell = log.cell[kept]
    shown = np.bincount(cell, minlength=len(pair)).astype(np.float64)
    clicks = np.bincount(cell, log.clicked[kept], len(pair))
    rate = np.bincount(position, clicks) / np.maximum(np.bincount(position, shown), 1)
    of_pair = np.bincount(pair, clicks), np.bincount(pair, shown * rate[position])
    learnt: Float64 = ((of_pair[0] + 1) / (of_pair[1] + 1) - 1)[pair]
    return learnt


def _apart(values: Float64, cell: np.ndarray, counts: Int64) -> Float64:
    """Subtract the mean of each cell."""
    means = np.bincount(cell, values, len(counts)) / np.maximum(counts, 1)
    apart: Float64 = values - means[cell]
    apart[np.abs(apart) < 1e-12] = 0
    return apart
