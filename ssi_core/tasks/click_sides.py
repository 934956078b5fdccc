"""Sides of the rows of a click log: by pair, by user, or by time."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ssi_core.remedies import typed
from ssi_core.tasks.split import BOUNDS, SPLITS, side_of_documents, side_of_links
from ssi_core.types import BadInput


def with_sides(rows: pl.DataFrame, split: str, seed: int, where: Path) -> pl.DataFrame:
    """Add the column ``side`` to the rows of slates that were clicked in.

    Parameters
    ----------
    rows : DataFrame
        Event, user, query_id, document_id, timestamp.
    split : "pairs", "users" or "time"
        What stays on one side.
    where : Path
        Begins messages.
    """
    if split != "pairs" and rows["session"].n_unique() < 2:
        raise BadInput(f"{where}: its pairs are of no session. {_by_pairs()}")
    if split != "time":
        return _by_hash(rows, split, seed)
    if rows["timestamp"].null_count():
        raise BadInput(f"{where}: its clicks have no time. {_by_pairs()}")
    # A slate is where its first row is.
    rank = _began().rank("min").cast(pl.Float64) / pl.len()
    side = sum(((rank > bound).cast(pl.Int8) for bound in BOUNDS), pl.lit(0, pl.Int8))
    return rows.with_columns(side=side.cast(pl.Int8))


def _by_pairs() -> str:
    return f"Split them otherwise: {typed('split', 'pairs')}."


def with_sides_of(
    others: pl.DataFrame, rows: pl.DataFrame, split: str, seed: int, where: Path
) -> pl.DataFrame:
    """Add the column ``side`` to the rows of other slates, as ``rows`` are divided.

    Parameters
    ----------
    others : DataFrame
        Columns as of ``rows``; ``timestamp`` is that of the first row of the slate.
    rows : DataFrame
        As `with_sides` returns them.
    """
    if split != "time":
        return _by_hash(others, split, seed)
    if others["timestamp"].null_count():
        raise BadInput(f"{where}: some of its slates have no time. {_by_pairs()}")
    began = rows.select("side", began=_began())
    ends = [began.filter(pl.col("side") <= number)["began"].max() for number in range(len(SPLITS))]
    side = sum(
        ((pl.col("timestamp") > end).cast(pl.Int8) for end in ends[:-1] if end is not None),
        pl.lit(0, pl.Int8),
    )
    return others.with_columns(side=side.cast(pl.Int8))


def _began() -> pl.Expr:
    return pl.col("timestamp").min().over("event")


def _by_hash(rows: pl.DataFrame, split: str, seed: int) -> pl.DataFrame:
    if split == "pairs":
        side = side_of_links(rows["query_id"], rows["document_id"], seed=seed)
    else:
        side = side_of_documents(rows["user"], seed=seed)
    return rows.with_columns(side=pl.Series(side))
