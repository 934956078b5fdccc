"""Aggregation of rows of counts or judgements, without sessions, into pairs with weights.

Rows of a pair are summed: a log may have one for each day, country or judge. Its grade is the mean
of those that it was given (several judges). A pair is relevant if its grade is one of the map's
``relevant`` grades; one without a grade, if it was clicked. What is not relevant stays, with weight
0, as something that was shown or judged and passed over.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ssi_core.collection import PartWriter
from ssi_core.corpus.click_tables import CLICKS, IMPRESSIONS, write_clicks
from ssi_core.guests.click_logs.columns import GradeForm
from ssi_core.guests.click_logs.shards import Shards
from ssi_core.store import Building
from ssi_core.types import BadInput


def settle_pairs(
    building: Building, grades: GradeForm, rows: Shards, read: int, where: Path
) -> dict[str, pl.DataFrame]:
    """Write the pairs of all rows, and count them; return the ids that are used.

    Parameters
    ----------
    read : int
        Rows of the logs, broken ones too.
    where : Path
        Begins messages.
    """
    sums = pl.concat([_summed(rows.read(shard)) for shard in rows])
    silent = (pl.col("shown") == 0) & (pl.col("clicks") == 0) & pl.col("grade").is_null()
    seen = sums.filter(~silent.fill_null(False))
    pairs = seen.with_columns(weight=_weight(grades)).select(
        "rows", "query", "document", *CLICKS.keys()
    )
    relevant = pairs.filter(pl.col("weight") > 0)
    if not len(relevant):
        raise BadInput(
            f"{where}: of {len(pairs):,} pairs none was clicked, or has a grade of "
            f"{grades.relevant:g} or more. Give a longer log, or another [grades] relevant."
        )
    write_clicks(building.path, pairs)
    with PartWriter(building.path / "impressions", IMPRESSIONS):
        pass
    building.counts.update(
        rows=read,
        impressions=0,
        clicks=int(pairs["clicks"].sum()),
        pairs=len(relevant),
        pairs_not_relevant=len(pairs) - len(relevant),
    )
    if pairs["shown"].count():
        building.counts["showings"] = int(pairs["shown"].sum())
    if pairs["grade"].count():
        building.counts["pairs_graded"] = pairs["grade"].count()
    summed = int(pairs["rows"].sum())
    building.skipped.update(
        row_summed=summed - len(pairs),
        row_not_shown=int(sums["rows"].sum()) - summed,
    )
    return {side: pairs.select(id=pl.col(side)).unique() for side in ("query", "document")}


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    """Sum the rows of each pair; what no row of it knows is null, clicks are 0."""
    return rows.group_by("query", "document", maintain_order=True).agg(
        rows=pl.len().cast(pl.Int64),
        shown=pl.when(pl.col("shown").count() > 0).then(pl.col("shown").sum()),
        clicks=pl.col("clicks").sum(),
        grade=pl.col("grade").mean(),
    )


def _weight(grades: GradeForm) -> pl.Expr:
    """Weight of a pair in training, 0 where it is not relevant; see `GradeForm`."""
    clicked = pl.col("clicks") > 0
    relevant = pl.coalesce(pl.col("grade") >= grades.relevant, clicked)
    grade = pl.col("grade").fill_null(grades.relevant)
    graded = pl.col("grade").is_not_null().any()
    weight = {
        "gain": pl.lit(2.0).pow(grade) - 1,
        "one": pl.lit(1.0),
        "clicks": pl.col("clicks").cast(pl.Float64),
    }[grades.weight]
    chosen = pl.when(graded).then(weight).otherwise(pl.col("clicks").cast(pl.Float64))
    return pl.when(relevant).then(chosen).otherwise(0.0)
