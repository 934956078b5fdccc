"""Slates: what one session was shown for one query, each position and each document once."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ssi_core.corpus.clicks.check import QUARANTINE


def as_quarantined(rows: pl.DataFrame, file: str | Sequence[str]) -> pl.DataFrame:
    """Rows that were read well, with category and reason, in the schema of the quarantine."""
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
