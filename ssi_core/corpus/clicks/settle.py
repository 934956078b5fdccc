"""From believed rows to slates with a click, and to pairs with weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ssi_core.corpus.clicks.artefact import IMPRESSIONS, PAIRS
from ssi_core.corpus.clicks.propensity import estimate_propensities
from ssi_core.corpus.clicks.quarantine import Quarantine
from ssi_core.corpus.clicks.rules import Rules
from ssi_core.corpus.clicks.shards import Shards
from ssi_core.corpus.clicks.slates import as_quarantined, slates_of, weighed
from ssi_core.corpus.tables import PartWriter
from ssi_core.store import Building
from ssi_core.types import BadInput


def settle(
    building: Building,
    rules: Rules,
    rows: Shards,
    files: Sequence[str],
    quarantine: Quarantine,
    where: Path,
) -> dict[str, pl.DataFrame]:
    """Write impressions and pairs of all rows, and count them; return the ids that are used.

    Parameters
    ----------
    files : names of the logs, by number
    where : begins messages
    """
    shown, totals = _slates(rows, files, quarantine)
    quarantine.limit(where, at_end=True)
    weights = _weights(building, rules, shown, where)
    pairs = []
    with PartWriter(building.path / "impressions", IMPRESSIONS) as writer:
        for shard in rows:
            kept, dropped = weighed(rows.read_whole(shard), weights)
            for name, number in dropped.items():
                totals[name] += number
            writer.write(kept.with_columns(goal=pl.lit(None, pl.String)).select(IMPRESSIONS.keys()))
            totals["slates"] += kept.select("session", "page").n_unique()
            counted = kept.filter(pl.col("weight") > 0)
            pairs.append(counted.group_by("page", "ad").agg(pl.col("weight").sum()))
            totals["clicks"] += int(kept["clicked"].sum())
            totals["used"] += len(counted)
        totals["impressions"] = writer.rows
    could = shown.filter(pl.col("position") == 1) if rules.clicks == "first" else shown
    every = could.group_by("page", "ad").agg(pl.col("shown", "clicks").sum())
    found = _summed(pairs, ["page", "ad"], ["weight"]).join(every, on=["page", "ad"])
    found = found.select(PAIRS.keys()).sort("page", "ad")
    if not len(found):
        raise BadInput(
            f"{where}: of {totals['clicks']:,} clicks none counts with --clicks "
            f"{rules.clicks}. Give a longer log, or count other clicks."
        )
    found.write_parquet(building.path / "pairs.parquet")
    _account(building, totals, quarantine.rows, len(found))
    return {side: shown.select(id=pl.col(side)).unique() for side in ("page", "ad")}


def _slates(
    rows: Shards, files: Sequence[str], quarantine: Quarantine
) -> tuple[pl.DataFrame, Counter[str]]:
    """Put slates in the place of rows; return how often each ad was shown where, and clicked."""
    counts: list[pl.DataFrame] = []
    totals: Counter[str] = Counter()
    for shard in rows:
        shown_once, repeated = slates_of(rows.read(shard))
        quarantine.add(as_quarantined(repeated, files))
        totals["merged"] += int(shown_once["merged"].sum())
        shown_once = shown_once.drop("merged")
        counts.append(
            shown_once.group_by("page", "ad", "position").agg(
                shown=pl.len().cast(pl.Int64), clicks=pl.col("clicked").sum().cast(pl.Int64)
            )
        )
        rows.replace(shard, shown_once)
    return _summed(counts, ["page", "ad", "position"], ["shown", "clicks"]), totals


def _weights(building: Building, rules: Rules, shown: pl.DataFrame, where: Path) -> pl.DataFrame:
    """Weight of a click by its position."""
    positions = shown.group_by("position").agg(pl.col("shown", "clicks").sum()).sort("position")
    if rules.clicks == "all":
        return positions.select("position", weight=pl.lit(1.0))
    if rules.clicks == "first":
        return positions.select("position", weight=(pl.col("position") == 1).cast(pl.Float64))
    found = estimate_propensities(shown, str(where))
    found.write_parquet(building.path / "propensities.parquet")
    building.counts["propensities"] = {
        str(position): value for position, value in found.select("position", "propensity").rows()
    }
    building.counts["clicks_clipped"] = int(
        found.filter(1 / pl.col("propensity") > rules.clip)["clicks"].sum()
    )
    weight = (1 / pl.col("propensity")).clip(upper_bound=rules.clip)
    return found.select("position", weight=weight.fill_null(0.0))


def _account(building: Building, totals: Counter[str], rows: int, pairs: int) -> None:
    building.counts.update(
        rows=rows,
        impressions=totals["impressions"],
        slates=totals["slates"],
        clicks=totals["clicks"],
        clicks_used=totals["used"],
        pairs=pairs,
    )
    building.skipped.update(
        row_merged=totals["merged"],
        row_of_slate_without_click=totals["rows"],
        slate_without_click=totals["unclicked"],
        click_not_used=totals["clicks"] - totals["used"],
    )


def _summed(parts: list[pl.DataFrame], keys: list[str], values: list[str]) -> pl.DataFrame:
    return pl.concat(parts).group_by(keys).agg(pl.col(values).sum())
