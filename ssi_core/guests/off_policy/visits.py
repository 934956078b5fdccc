"""Read the visits of a collection of clicks, and what is known of how they came about."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ssi_core import files, store
from ssi_core.collection import KIND
from ssi_core.corpus.tables.reader import read_rows
from ssi_core.remedies import typed
from ssi_core.types import BadInput

_AGAIN = "Remove the clicks and ingest them again."
_ROW = ["session", "query", "document", "position", "clicked"]


def read_visits(clicks: Path) -> pl.DataFrame:
    """Read all that was shown, in slates that nobody clicked in too.

    Returns
    -------
    frame of session, query, document, position, clicked
        A row for each document that was shown.

    Raises
    ------
    BadInput
        The clicks have no slates without a click.
    """
    store.read(clicks, KIND)
    unclicked = files.parts_in(clicks / "unclicked")
    if not unclicked:
        raise BadInput(
            f"{clicks}: it has no visits without a click, which count here. Ingest the log again "
            f"with {typed('clicks', 'weighted')}, which keeps them."
        )
    parts = [*files.parts_in(clicks / "impressions"), *unclicked]
    frames = []
    for part in parts:
        with files.reading(part, _AGAIN):
            frames.append(pl.read_parquet(part, columns=_ROW, glob=False))
    return pl.concat(frames).with_columns(pl.col("position").cast(pl.Int64))


def read_propensities(path: Path) -> pl.DataFrame:
    """Read how often each position is looked at: position, propensity (null: not known).

    Parameters
    ----------
    path : Path
        A collection of clicks with estimates, or a table of the columns position, propensity.
    """
    if path.is_dir():
        with files.reading(path / "propensities.parquet", _AGAIN):
            table = pl.read_parquet(path / "propensities.parquet", glob=False)
        return table.select(pl.col("position").cast(pl.Int64), "propensity")
    return _table(path, ["position"], "propensity")


def read_policy(path: Path) -> pl.DataFrame:
    """Read a known policy: how likely each visit to a query shows a document at a position.

    Returns
    -------
    frame of query, document, position, probability
    """
    return _table(path, ["query", "document", "position"], "probability")


def _table(path: Path, keys: list[str], value: str) -> pl.DataFrame:
    """Read a table (CSV, TSV, JSON lines, parquet) of keys and a number from 0 to 1."""
    blocks = list(read_rows(path, {name: name for name in (*keys, value)}))
    if not sum(map(len, blocks)):
        raise BadInput(f"{path}: no row is in it. Give the columns {', '.join(keys)}, {value}.")
    rows = pl.concat(blocks).with_columns(
        pl.col("position").str.strip_chars().cast(pl.Int64, strict=False),
        pl.col(value).str.strip_chars().cast(pl.Float64, strict=False),
    )
    right = pl.all_horizontal(pl.col(name).is_not_null() for name in [*keys, value])
    right &= pl.col(value).is_between(0, 1) & (pl.col("position") >= 1)
    wrong = rows.filter(~right.fill_null(False) | pl.col("category").is_not_null())
    if len(wrong):
        raise BadInput(
            f"{path}: line {wrong['line'][0]}: expected {', '.join(keys)} (positions from 1) and a "
            f"{value} from 0 to 1. Correct the line."
        )
    twice = rows.filter(~pl.struct(keys).is_first_distinct())
    if len(twice):
        raise BadInput(
            f"{path}: line {twice['line'][0]}: its {', '.join(keys)} are there before. Remove one."
        )
    return rows.select(*keys, value)
