"""Clicks per showing of a ``clicks`` artefact, in all and by the position on the slate.

The rate in all counts every row of the log that was believed. Positions are those of the slates
that were clicked in, as no other is kept: where on them the clicks are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ssi_core import files, store

ALL = "click_rate"
FEWEST = 100
"""Clicks that the higher of two rates gives on either night, for them to be compared."""


@dataclass(frozen=True)
class Rate:
    """Showings, and the clicks on them."""

    shown: int
    clicks: int

    @property
    def value(self) -> float:
        """Clicks per showing."""
        return self.clicks / max(1, self.shown)


def click_rates(clicks: Path) -> dict[str, Rate]:
    """Return the rates by name; none where it is not known what was shown.

    Parameters
    ----------
    clicks : directory that ``ssi ingest clicks`` wrote
    """
    made = store.read(Path(clicks), "clicks")
    shown, clicked = (int(made.counts.get(name, 0)) for name in ("impressions", "clicks"))
    # Where a page always shows the same, its impressions are the clicked ones alone.
    if not shown or (made.path / "slates.parquet").exists():
        return {}
    whole = shown + int(made.skipped.get("row_of_slate_without_click", 0))
    with files.reading(made.path / "impressions", "Ingest the clicks again."):
        positions = (
            pl.scan_parquet(made.path / "impressions" / "part-*.parquet")
            .filter(pl.col("position").is_not_null())
            .group_by("position")
            .agg(shown=pl.len(), clicks=pl.col("clicked").sum())
            .sort("position")
            .collect()
        )
    return {
        ALL: Rate(whole, clicked),
        **{f"{ALL}_position_{p}": Rate(int(n), int(c)) for p, n, c in positions.iter_rows()},
    }


def jumps(new: Mapping[str, Rate], old: Mapping[str, Rate], factor: float) -> list[str]:
    """Say which rates have risen or fallen by more than a factor, beyond what chance does."""
    found = []
    for name in old.keys() & new.keys():
        now, before = new[name], old[name]
        low, high = sorted((now.value, before.value))
        expected = high * min(now.shown, before.shown)
        if expected >= FEWEST and high > factor * low:
            where = name.removeprefix(ALL).replace("_position_", " in position ")
            found.append(
                f"{now.value:.4f} clicks per showing{where}, {before.value:.4f} before, a factor "
                f"of at most {factor:g} (limit clicks)"
            )
    return sorted(found)
