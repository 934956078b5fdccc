"""Clicks per showing of a collection, in all and by the position on the slate.

The rate in all counts every row of the log that was believed. Positions are those of the slates
that were clicked in, as no other is kept: where on them the clicks are.

A log grows from one retraining to the next, and one bad day hardly moves the rate of a year. So
what came since the retraining before is compared: with ``c`` clicks on ``n`` showings then, ``C``
and ``N`` now, its rate is ``(C - c) / (N - n)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.collection import SHOWN, open_collection

ALL = "click_rate"
_REMEDY = "Ingest the clicks again."
FEWEST = 100
"""Clicks that the higher of two rates gives on either retraining, for them to be compared."""


@dataclass(frozen=True)
class Rate:
    """Showings, and the clicks on them."""

    shown: int
    clicks: int

    @property
    def value(self) -> float:
        """Clicks per showing."""
        return self.clicks / max(1, self.shown)


@dataclass(frozen=True)
class ClickRates:
    """The rates of some logs.

    Attributes
    ----------
    rates : mapping
        Name -> `Rate`; empty where it is not known what was shown.
    logs : mapping
        Name of a log -> bytes that were read of it.
    """

    rates: Mapping[str, Rate] = field(default_factory=dict)
    logs: Mapping[str, int] = field(default_factory=dict)

    def since(self, before: ClickRates) -> Mapping[str, Rate]:
        """Return the rates of what the logs have grown by; of all, where they are other logs."""
        grown = bool(before.logs) and all(
            self.logs.get(name, -1) >= size for name, size in before.logs.items()
        )
        new = {
            name: Rate(rate.shown - old.shown, rate.clicks - old.clicks)
            for name, rate in self.rates.items()
            for old in [before.rates.get(name, Rate(0, 0))]
        }
        same = grown and all(0 <= rate.clicks <= rate.shown for rate in new.values())
        return new if same else self.rates


def click_rates(path: Path) -> ClickRates:
    """Return the rates of the clicks in a collection."""
    collection = open_collection(path)
    artefact = collection.artefact
    shown, clicked = (int(artefact.counts.get(name, 0)) for name in ("impressions", "clicks"))
    # Where a page always shows the same, its impressions are the clicked ones alone.
    if not shown or SHOWN in collection.relations:
        return ClickRates()
    whole = shown + int(artefact.skipped.get("row_of_slate_without_click", 0))
    with files.reading(artefact.path / "impressions", _REMEDY):
        positions = (
            pl.scan_parquet(files.parts_in(artefact.path / "impressions"), glob=False)
            .filter(pl.col("position").is_not_null())
            .group_by("position")
            .agg(shown=pl.len(), clicks=pl.col("clicked").sum())
            .sort("position")
            .collect()
        )
    rates = {f"{ALL}_position_{p}": Rate(int(n), int(c)) for p, n, c in positions.iter_rows()}
    return ClickRates({ALL: Rate(whole, clicked), **rates}, _sizes_of_logs(artefact.path))


def _sizes_of_logs(clicks: Path) -> dict[str, int]:
    read = clicks / "lines" / "lines.json"
    # Data sets have none.
    logs = files.read_object(read, _REMEDY)["logs"] if read.exists() else []
    return {log["name"]: log["size"] for log in logs}


def jumps(new: ClickRates, old: ClickRates, factor: float) -> list[str]:
    """Say which rates have risen or fallen by more than a factor, beyond what chance does."""
    problems = []
    for name, now in new.since(old).items():
        before = old.rates.get(name, Rate(0, 0))
        low, high = sorted((now.value, before.value))
        expected = high * min(now.shown, before.shown)
        if expected >= FEWEST and high > factor * low:
            where = name.removeprefix(ALL).replace("_position_", " in position ")
            problems.append(
                f"{now.value:.4f} clicks per showing{where}, {before.value:.4f} before, a factor "
                f"of at most {factor:g} (limit clicks)"
            )
    return sorted(problems)
