"""Weighted pairs, and what was shown beside what was clicked, as files of a task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from ssi_core.kernels.ranking.examination import estimate_relevance
from ssi_core.tasks.layout import SHOWN
from ssi_core.tasks.pairs import write_lists
from ssi_core.tasks.split import NO_SIDE, SPLITS, TEST, TRAIN
from ssi_core.types import Float64, Judged

_MOST_SHOWN = 20_000_000  # entries; counts of a log may add up to any number


def write_pairs_of(
    directory: Path, rows: pl.DataFrame, exposure: pl.DataFrame | None = None
) -> dict[str, int]:
    """Write the pairs of each side and their weights; returns how many there are.

    Parameters
    ----------
    rows : DataFrame
        q, d, side, weight, grade; a pair's weights on a side are summed, and their mean is made 1.
        Grades are rounded, a half up; one that is null counts as 1.
    exposure : DataFrame or None
        Side, q, d, looks of all showings: a pair's weight is then its relevance, estimated from the
        clicks and looks of the side.
    """
    directory.mkdir()
    counted = rows.filter(pl.col("weight") > 0)
    sums = (
        counted.group_by("side", "q", "d")
        .agg(pl.col("weight").sum(), pl.col("grade").max())
        .sort("side", "q", "d")
    )
    graded = counted["grade"].null_count() < len(counted)
    counts = {}
    for number, side in enumerate(SPLITS):
        side_sums = sums.filter(pl.col("side") == number)
        weight = side_sums["weight"].to_numpy()
        if exposure is not None and len(side_sums):
            weight = _relevance(side_sums, exposure.filter(pl.col("side") == number))
        mean = weight.mean() if len(weight) else 1.0
        np.save(directory / f"{side}.npy", side_sums.select("q", "d").to_numpy().astype(np.int32))
        np.save(directory / f"{side}_weight.npy", (weight / mean).astype(np.float32))
        if graded:
            grade = (side_sums["grade"].fill_null(1) + 0.5).floor().clip(lower_bound=1)
            np.save(directory / f"{side}_grade.npy", grade.to_numpy().astype(np.float32))
        counts[side] = len(side_sums)
    return counts


def _relevance(clicked: pl.DataFrame, exposure: pl.DataFrame) -> Float64:
    """Estimate the relevance of clicked pairs (q, d, weight: their clicks), row by row."""
    clicks = clicked["weight"].to_numpy()
    looks = clicked.join(exposure, on=["q", "d"], how="left", maintain_order="left")["looks"]
    mean = float(clicks.sum() / exposure["looks"].to_numpy().sum())
    return estimate_relevance(clicks, looks.to_numpy(), mean)


def write_slates(
    path: Path, rows: pl.DataFrame, fixed: pl.DataFrame | None, side: int, *, apart: bool
) -> int:
    """Write the slates of the events of a side; returns how many there are.

    Parameters
    ----------
    rows : DataFrame
        Event, q, query, d, clicked, side.
    fixed : DataFrame or None
        Query, d: what a query always shows; None: what ``rows`` say was shown.
    apart : bool
        Pairs that were clicked on an earlier side are taken off the slates.
    """
    event = ["event", "q"]
    clicks = rows.filter((pl.col("side") == side) & pl.col("clicked"))
    events = clicks.select(*event, "query").unique()
    if fixed is None:
        shown = rows.select(*event, "d").join(events, on=event, how="semi")
    else:
        shown = events.join(fixed, on="query").select(*event, "d")
    clicked_events = clicks.select(*event, "d", clicked=pl.lit(True))
    slates = shown.unique().join(
        clicked_events, on=[*event, "d"], how="left", maintain_order="none"
    )
    slates = slates.with_columns(pl.col("clicked").fill_null(False))
    # What is excluded from training is no wrong answer of a validation.
    off = [NO_SIDE] if apart or side != TEST else []
    earlier = rows.filter(pl.col("clicked") & pl.col("side").is_in(off + list(range(side)) * apart))
    slates = slates.join(earlier.select("q", "d").unique(), on=["q", "d"], how="anti")
    whole = slates.filter(pl.col("clicked").any().over(event)).sort("q", "event", "d")
    length = whole.group_by(event, maintain_order=True).len()
    lists = Judged(
        length["q"].to_numpy().astype(np.int32),
        np.concatenate([[0], np.cumsum(length["len"].to_numpy(), dtype=np.int64)]),
        whole["d"].to_numpy().astype(np.int32),
        whole["clicked"].to_numpy().astype(np.float32),
    )
    write_lists(path / SHOWN / SPLITS[side], lists)
    return len(length)


def write_shown(
    path: Path,
    rows: pl.DataFrame,
    fixed: pl.DataFrame | None,
    queries: int,
    *,
    only_first: bool,
) -> int:
    """Write what was shown in training and not clicked; returns how much it is.

    Parameters
    ----------
    rows : DataFrame
        q, query, d, side, clicked, position, passed: how often the row was not clicked.
    only_first : bool
        Of rows, those of the first position: with a click lower down they were looked at, and not
        liked (journal paper, section 4.4).
    """
    train = rows.filter(pl.col("side") == TRAIN)
    if fixed is None:
        left = train.filter(pl.col("passed") > 0)
        if only_first:
            left = left.filter(pl.col("position") == 1)
        left = left.select("q", "d", times=_few(left["passed"]))
    else:
        # Nor is what is excluded from training learnt to be a wrong answer.
        clicked = rows.filter(pl.col("side").is_in([TRAIN, NO_SIDE])).select("q", "d").unique()
        trained = train.select("q", "query").unique()
        left = trained.join(fixed, on="query").join(clicked, on=["q", "d"], how="anti")
        left = left.select("q", "d", times=1)
    return _write_training(path, left.sort("q", "d").with_columns(grade=0.0), queries)


def _few(times: pl.Series) -> pl.Series:
    """Return counts that stay in proportion, and add up to `_MOST_SHOWN` or little more."""
    share = min(1.0, _MOST_SHOWN / max(1, int(times.sum())))
    return (times * share).ceil().cast(pl.Int64)


def write_exposed(
    path: Path, rows: pl.DataFrame, exposure: pl.DataFrame, queries: int, *, distinct: bool
) -> int:
    """Write what was shown in training, clicked or not; returns how much it is.

    Parameters
    ----------
    rows : DataFrame
        q, d, side, clicked.
    exposure : DataFrame
        Side, q, d, shown.
    distinct : bool
        Each pair once; else as often as it was shown.
    """
    in_training = pl.col("side") == TRAIN
    clicked = rows.filter(in_training & pl.col("clicked")).select("q", "d", grade=1.0).unique()
    train = exposure.filter(in_training).join(clicked, on=["q", "d"], how="left")
    left = train.with_columns(
        pl.col("grade").fill_null(0.0), times=1 if distinct else pl.col("shown")
    )
    return _write_training(path, left.sort("q", "d"), queries)


def _write_training(path: Path, left: pl.DataFrame, queries: int) -> int:
    """Write a list for each query, of rows that are sorted by q, d and repeated; return how many.

    Parameters
    ----------
    left : DataFrame
        q, d, times, grade.
    """
    times = left["times"].to_numpy()
    query, document, grade = (
        np.repeat(left[name].to_numpy(), times) for name in ("q", "d", "grade")
    )
    start = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=queries), dtype=np.int64)])
    every = np.arange(queries, dtype=np.int32)
    lists = Judged(every, start, document.astype(np.int32), grade.astype(np.float32))
    write_lists(path / SHOWN / SPLITS[TRAIN], lists)
    return len(document)
