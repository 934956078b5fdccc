"""Labels: what a source says of a text beside the text, and slices of a task by them.

A label is a value in a column, such as History in ``category``; a text may have several. Every text
has its ``language``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import files
from ssi_core.collection import INGEST, LABELS
from ssi_core.types import BadInput, Task

FEWEST = 10
"""Queries of the smallest slice; smaller ones are one slice together."""
NONE = "(none)"
"""Value of texts that have none in a column."""


def languages_of(texts: pl.DataFrame) -> pl.DataFrame:
    """Return the language of each text as a label: columns id, column, value."""
    return texts.select("id", pl.lit("language").alias("column"), pl.col("language").alias("value"))


def read_labels(parts: Sequence[Path], texts: pl.DataFrame) -> pl.DataFrame:
    """Read the labels of some texts, each with its language.

    Parameters
    ----------
    parts : sequence of Path
        Files of labels; there may be none.
    texts : DataFrame
        Columns id and language.

    Returns
    -------
    columns id, column, value
    """
    languages = languages_of(texts)
    if not parts:
        return languages
    kept = files.read_strings(list(parts), *LABELS, remedy=INGEST)
    return pl.concat([languages, kept.join(texts.select("id"), on="id", how="semi")])


def marked_by(task: Task, labels: Mapping[str, pl.DataFrame], by: str, where: Path) -> Task:
    """Mark the test pairs of a task by the values of a column, and by nothing else.

    ``marked`` has ``COLUMN=VALUE``, the most queries first; a pair is in all values that its query
    has, or, for the column ``document.COLUMN``, its document. Values with fewer than `FEWEST`
    queries are one slice.

    Parameters
    ----------
    labels : mapping
        "query" or "document" -> `read_labels`.

    Raises
    ------
    BadInput
        There is no such column; the message lists those that there are.
    """
    side, _, name = by.rpartition(".")
    side = side or "query"
    columns = [*_columns(labels, "query"), *(f"document.{c}" for c in _columns(labels, "document"))]
    if by.removeprefix("query.") not in columns:
        raise BadInput(f"{where}: no column {by!r} to slice by; it has: {', '.join(columns)}.")
    texts = task.queries if side == "query" else task.documents
    rows = task.test.rows
    of = labels[side].filter(pl.col("column") == name).select("id", "value")
    ends = pl.DataFrame({"id": texts.ids, "end": np.arange(len(texts), dtype=np.int32)})
    pairs = pl.DataFrame(
        {"query": rows[:, 0], "document": rows[:, 1], "end": rows[:, int(side == "document")]}
    )
    valued = (
        pairs.join(ends.join(of, on="id", how="left").drop("id"), on="end")
        .with_columns(pl.col("value").replace("", None).fill_null(NONE))
        .with_columns(n=pl.col("query").n_unique().over("value"))
    )
    few = valued.filter(pl.col("n") < FEWEST)["value"].unique()
    if len(few) > 1:
        others = f"({len(few)} others)"
        small = pl.col("n") < FEWEST
        valued = valued.with_columns(
            pl.when(small).then(pl.lit(others)).otherwise(pl.col("value")).alias("value")
        )
    slices = {
        f"{by}={value}": rows_of_value.select("query", "document").unique().to_numpy()
        for (value,), rows_of_value in valued.sort(
            [pl.col("n") >= FEWEST, "n", "value"], descending=[True, True, False]
        ).group_by("value", maintain_order=True)
    }
    return replace(task, subsets=slices)


def _columns(labels: Mapping[str, pl.DataFrame], side: str) -> list[str]:
    return labels[side]["column"].unique().sort().to_list() if side in labels else []
