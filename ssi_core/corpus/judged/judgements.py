"""Queries and graded judgements beside the documents of a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import collection, files
from ssi_core.store import Building
from ssi_core.types import BadInput

HIGHEST = 4.0
"""Highest level of relevance that a gain is taken of."""


def write_judgements(
    building: Building, queries: pl.DataFrame, judgements: pl.DataFrame, where: Path
) -> None:
    """Write queries, and the judgements of known queries and documents.

    A pair counts once, as it is judged first; a grade below 0 means that nobody judged the pair.
    The manifest accounts for all: ``judgements`` + ``skipped[judgement_...]`` =
    ``judgements_found``.

    Parameters
    ----------
    building : Building
        A collection whose documents are written.
    queries : DataFrame
        Columns ``id`` and ``text``.
    judgements : DataFrame
        Columns ``query``, ``document``, ``grade`` and, perhaps, ``side``.
    where : Path
        What errors name.

    Raises
    ------
    BadInput
        No judgement is left.
    """
    worded = queries.filter(pl.col("text").str.strip_chars() != "").unique(
        "id", keep="first", maintain_order=True
    )
    kept, skipped = kept_judgements(building.path, worded["id"].to_list(), judgements)
    skipped["query_without_text_or_repeated"] = len(queries) - len(worded)
    if kept.filter(pl.col("grade") > 0).is_empty():
        reasons = ", ".join(f"{n:,} {name}" for name, n in skipped.items() if n)
        raise BadInput(
            f"{where}: no query has a relevant document ({len(judgements):,} judgements found; "
            f"{reasons or 'none has a grade above 0'}). Do the ids of the three files belong "
            "together?"
        )
    write_queries(building.path, worded)
    write_relation(building, kept)
    building.counts["queries"] = len(worded)
    account(building, kept, skipped)


def kept_judgements(
    path: Path, queries: Sequence[str], judgements: pl.DataFrame
) -> tuple[pl.DataFrame, Counter[str]]:
    """Return the judgements of known queries and documents, each pair once, and count the others.

    Parameters
    ----------
    path : Path
        Of a collection whose documents are written.
    queries : sequence of str
        Their ids.
    """
    skipped: Counter[str] = Counter()
    ids = pl.read_parquet(files.parts_in(path / "documents"), columns=["id"], glob=False)
    rows = judgements
    for reason, known in (
        ("unknown_query", pl.col("query").is_in(queries)),
        ("unknown_document", pl.col("document").is_in(ids["id"].implode())),
        ("negative", pl.col("grade") >= 0),
    ):
        left = rows.filter(known)
        skipped[f"judgement_{reason}"] = len(rows) - len(left)
        rows = left
    once = rows.unique(["query", "document"], keep="first", maintain_order=True)
    skipped["judgement_repeated"] = len(rows) - len(once)
    return once, skipped


def account(building: Building, judgements: pl.DataFrame, skipped: Counter[str]) -> None:
    """Say how many judgements are kept, and how many are left out for each reason."""
    relevant = judgements.filter(pl.col("grade") > 0)
    left_out = sum(n for reason, n in skipped.items() if reason.startswith("judgement_"))
    building.counts.update(
        judged_queries=relevant["query"].n_unique(),
        judgements=len(judgements),
        judgements_not_relevant=len(judgements) - len(relevant),
        judgements_found=len(judgements) + left_out,
    )
    building.skipped.update({name: n for name, n in sorted(skipped.items()) if n})


def write_queries(path: Path, queries: pl.DataFrame) -> None:
    """Write queries (id, text), in the language of the documents; a text is its own title."""
    parts = files.parts_in(path / "documents")
    language = pl.read_parquet(parts[:1], columns=["language"], n_rows=1, glob=False)
    with collection.text_writer(path, "queries") as writer:
        code = language["language"].first()
        texts = queries.with_columns(title=pl.col("text"), language=pl.lit(code))
        writer.write(collection.timeless(texts))


def write_relation(building: Building, judgements: pl.DataFrame) -> None:
    """Write judgements (query, document, grade and perhaps side) as a relation.

    Grades are those of the publisher. ``counts["gains"]`` is its scale, and the level of each grade
    from 0 to 4 that measures of graded relevance use: the grade itself, or where the scale goes
    beyond 4, its part of the highest.
    """
    scale = judgements["grade"].cast(pl.Float32).unique().sort().to_list()
    factor = HIGHEST / max(HIGHEST, *scale)
    # The fewest digits that give a float32 back.
    grades = [np.format_float_positional(np.float32(grade), trim="-") for grade in scale]
    building.counts["gains"] = {grade: float(grade) * factor for grade in grades}
    further = {**collection.JUDGED, **(collection.GIVEN if "side" in judgements.columns else {})}
    with collection.relation_writer(building.path, collection.JUDGEMENT, further) as writer:
        writer.write(judgements.rename({"query": "source", "document": "target"}))
