"""Aggregation of valid rows into impressions with a click, and pairs with weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import polars as pl

from ssi_core.collection import PartWriter
from ssi_core.corpus.click_tables import IMPRESSIONS, write_clicks
from ssi_core.guests.click_logs.check import QUARANTINE
from ssi_core.guests.click_logs.propensity import estimate_propensities
from ssi_core.guests.click_logs.quarantine import Quarantine
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.guests.click_logs.shards import Shards
from ssi_core.kernels.ranking.examination import estimate_relevance
from ssi_core.remedies import typed
from ssi_core.store import Building
from ssi_core.types import BadInput


def resolve(
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
    files : sequence of str
        Names of the logs, by number.
    where : Path
        Begins messages.
    """
    shown, totals = _slates(rows, files, quarantine)
    quarantine.limit(where, at_end=True)
    positions = _positions(building, rules, shown, where)
    pairs = []
    with ExitStack() as stack:
        writer = stack.enter_context(PartWriter(building.path / "impressions", IMPRESSIONS))
        others = None
        if rules.by_propensity:
            others = stack.enter_context(PartWriter(building.path / "unclicked", IMPRESSIONS))
        for shard in rows:
            before = totals["slates"] + totals["unclicked"]
            kept, dropped = weighed(rows.read_whole(shard), positions.drop("looks"), before)
            totals["rows"] += len(dropped)
            totals["unclicked"] += dropped["event"].n_unique()
            writer.write(kept)
            if others is not None:
                others.write(dropped)
            totals["slates"] += kept["event"].n_unique()
            counted = kept.filter(pl.col("weight") > 0)
            pairs.append(counted.group_by("query", "document").agg(pl.col("weight").sum()))
            totals["clicks"] += int(kept["clicked"].sum())
            totals["used"] += len(counted)
        totals["impressions"] = writer.rows
    could = shown.filter(pl.col("position") == 1) if rules.clicks == "first" else shown
    ends = ["query", "document"]
    every = could.group_by(ends).agg(pl.col("shown", "clicks").sum())
    relevance = _summed(pairs, ends, ["weight"]).join(every, on=ends)
    if not len(relevance):
        raise BadInput(
            f"{where}: of {totals['clicks']:,} clicks none counts with "
            f"{typed('clicks', rules.clicks)}. Give a longer log, or count other clicks."
        )
    if rules.clicks == "weighted":
        relevance = _by_relevance(relevance, shown, positions)
    relevance = relevance.with_columns(grade=pl.lit(None, pl.Float64))
    write_clicks(building.path, relevance)
    _account(building, totals, quarantine.rows, len(relevance))
    return {side: shown.select(id=pl.col(side)).unique() for side in ("query", "document")}


def _slates(
    rows: Shards, files: Sequence[str], quarantine: Quarantine
) -> tuple[pl.DataFrame, Counter[str]]:
    """Put slates in the place of rows; count how often each document was shown and clicked."""
    counts: list[pl.DataFrame] = []
    totals: Counter[str] = Counter()
    for shard in rows:
        shown_once, repeated = slates_of(rows.read(shard))
        quarantine.add(as_quarantined(repeated, files))
        totals["merged"] += int(shown_once["merged"].sum())
        shown_once = shown_once.drop("merged")
        counts.append(
            shown_once.group_by("query", "document", "position").agg(
                shown=pl.len().cast(pl.Int64), clicks=pl.col("clicked").sum().cast(pl.Int64)
            )
        )
        rows.replace(shard, shown_once)
    return _summed(counts, ["query", "document", "position"], ["shown", "clicks"]), totals


def _positions(building: Building, rules: Rules, shown: pl.DataFrame, where: Path) -> pl.DataFrame:
    """Return for each position the weight of a click, and how often a showing is looked at.

    ``looks`` is the propensity where it is estimated, null where the log cannot tell; else 1.
    """
    if not rules.by_propensity:
        counts = pl.lit(True) if rules.clicks == "all" else pl.col("position") == 1
        positions = shown.select(pl.col("position").unique().sort())
        return positions.with_columns(weight=counts.cast(pl.Float64), looks=pl.lit(1.0))
    estimates = estimate_propensities(shown, str(where))
    estimates.write_parquet(building.path / "propensities.parquet")
    building.counts["propensities"] = {
        str(position): value
        for position, value in estimates.select("position", "propensity").rows()
    }
    looks = pl.col("propensity")
    if rules.clicks == "weighted":
        return estimates.select(
            "position", weight=looks.is_not_null().cast(pl.Float64), looks=looks
        )
    clipped = estimates.filter(1 / looks > rules.clip)["clicks"].sum()
    building.counts["clicks_clipped"] = int(clipped)
    weight = (1 / looks).clip(upper_bound=rules.clip).fill_null(0.0)
    return estimates.select("position", weight=weight, looks=looks)


def _by_relevance(
    pairs: pl.DataFrame, shown: pl.DataFrame, positions: pl.DataFrame
) -> pl.DataFrame:
    """Put the estimate of each pair's relevance in the place of its clicks, its weight."""
    seen = shown.join(positions.select("position", "looks"), on="position").drop_nulls("looks")
    looks = (pl.col("shown") * pl.col("looks")).sum()
    mean = pairs["weight"].sum() / seen.select(looks).item()
    each = pairs.join(seen.group_by("query", "document").agg(looks=looks), on=["query", "document"])
    clicks, looked = (each[name].to_numpy() for name in ("weight", "looks"))
    return each.with_columns(weight=pl.Series(estimate_relevance(clicks, looked, mean)))


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


def as_quarantined(rows: pl.DataFrame, file: str | Sequence[str]) -> pl.DataFrame:
    """Return rows that were read, with a category and a reason, in the schema of the quarantine."""
    if isinstance(file, str):
        name = pl.lit(file)
    else:
        name = pl.col("file").replace_strict(dict(enumerate(file)), return_dtype=pl.String)
    fields = [pl.col(c).cast(pl.String).fill_null("") for c in
           ("session", "query", "document", "position", "clicked")]  # fmt: skip
    return rows.select(
        name.alias("file"),
        "line",
        "category",
        "reason",
        pl.concat_str(fields, separator="\t").alias("row"),
    ).select(QUARANTINE.keys())


def slates_of(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Join repeated rows to one, and take out what cannot be in one slate."""
    slate, keys = ["session", "query"], ["session", "query", "document", "position"]
    placed = pl.col("position").is_not_null()
    merged = rows.sort("file", "line").group_by(keys, maintain_order=True).agg(
        pl.col("file", "line", "user", "timestamp").first(),
        pl.col("clicked").any(),
        merged=pl.len().cast(pl.Int64) - 1,
    )  # fmt: skip
    taken = placed & ~pl.struct(*slate, "position").is_first_distinct()
    twice = ~pl.struct(*slate, "document").is_first_distinct()
    checked = merged.with_columns(
        category=pl.when(taken)
        .then(pl.lit("position_taken"))
        .when(twice)
        .then(pl.lit("document_repeated")),
        reason=pl.when(taken)
        .then(pl.format("position {} of this session and query has another document", "position"))
        .when(twice)
        .then(pl.lit("the document is in this slate before, at another position")),
    )
    wrong = pl.col("category").is_not_null()
    # A row that goes takes those that were joined to it along.
    return checked.filter(~wrong).drop("category", "reason"), checked.filter(wrong)


def weighed(
    slates: pl.DataFrame, weights: pl.DataFrame, before: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give clicks their weights and slates their numbers; return those with a click, and others.

    Parameters
    ----------
    before : int
        Number of the first slate.
    """
    slate = ["session", "query"]
    weight = pl.when("clicked").then("weight").otherwise(0.0)
    rows = (
        slates.join(weights, on="position", how="left", maintain_order="left", nulls_equal=True)
        .with_columns(weight=weight, goal=pl.lit(None, pl.String))
        .sort(*slate, "position")
        .with_columns(
            event=before - 1 + pl.struct(slate).is_first_distinct().cum_sum().cast(pl.Int64),
            any=pl.col("clicked").any().over(slate),
        )
    )
    unclicked = rows.filter(~pl.col("any")).with_columns(pl.col("timestamp").min().over(slate))
    return rows.filter("any").drop("any"), unclicked.drop("any")
