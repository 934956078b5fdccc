"""Queries that are names of documents: the words of anchors, or titles and redirects.

A query is a wording, the sequence of its words as the documents' language splits them, so that two
spellings of the same words are one query, on one side of the split. The vocabulary and the weights
of words are those of all documents, and all documents are candidates, or a draw of them (``pool``).

================  =====================================================  ==========================
queries           relevant                                               side
================  =====================================================  ==========================
``anchors``       documents that the wording leads to, weighed by how    of the wording
                  often it does
``titles``        the document of that title, or of that redirect; its   of the documents: the last
                  text is read without its title                         of those of that name
``words:N``       the document that the words were drawn of              of the document
================  =====================================================  ==========================

Training sees no wording of another side, and of a document on the test side neither its title nor a
redirect to it nor words that were drawn of it. It sees the texts of all documents, and anchors that
lead to a document whose other anchors are tested.

A title that is the beginning of its text, or a number that is the id, was given to a document that
had none, and is no query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ssi_core import files
from ssi_core.collection import ANCHOR, INGEST, has_title
from ssi_core.remedies import typed
from ssi_core.tasks.kinds import SELF
from ssi_core.tasks.layout import ANCHORED, PAIRS
from ssi_core.tasks.pairs import write_pairs
from ssi_core.tasks.queries import write_exclude, write_queries
from ssi_core.tasks.reading import language_of
from ssi_core.tasks.slates import write_pairs_of
from ssi_core.tasks.split import SPLITS, TRAIN, Splits, side_of_documents
from ssi_core.tasks.task_builder import Names, Reading, TaskBuilder
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Int32, TextMatrix
from ssi_core.views.names import COUNTS
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting

_AT_ONCE = 16_384
_FEW_TITLES = 20
"""Titles that leave a side without one where documents are split by them: one in 20 validates."""


class NoSide(BadInput):
    """Raised when a split leaves no query on a side."""


def write_anchors(builder: TaskBuilder) -> Reading:
    """Write the pairs of a wording and the documents that it leads to."""
    return _write(builder, anchors_of(builder, builder.skipped, "text", "target"))


def write_anchored(builder: TaskBuilder) -> None:
    """Write the wordings of links that no training reads as queries, beside a task of links."""
    rows = anchors_of(builder, {}, "text", "target").filter(pl.col("side") != TRAIN)
    pairs = rows.unique(["key", "d"]).drop("text", "weight").join(_spelled(rows), on="key")
    named = pairs.sort("key", "d").select("text", "side", pl.col("d").cast(pl.Int32))
    named.write_parquet(builder.path / ANCHORED)


def read_anchored(task: Path, side: str) -> pl.DataFrame:
    """Read wordings of links on a side, ``text``, and the rows of their documents, ``d``."""
    path = task / ANCHORED
    if not path.exists():
        return pl.DataFrame(schema={"text": pl.String, "d": pl.List(pl.Int32)})
    with files.reading(path):
        frame = pl.read_parquet(path, glob=False).filter(side=SPLITS.index(side))
        return frame.group_by("text", maintain_order=True).agg("d")


def write_self(builder: TaskBuilder) -> Reading:
    """Write the pairs of a document with its names, or with itself where words are drawn of it."""
    if builder.spec.query_words is None:
        return _write(builder, titles_of(builder, builder.skipped))
    sides = side_of_sources(builder)
    rows = np.arange(len(builder.documents), dtype=np.int32)
    pairs = write_pairs(builder.path / PAIRS, np.column_stack([rows, rows]), sides)
    _require_all_sides(builder, pairs)
    builder.counts["pairs"] = pairs
    builder.write_pools()
    return Reading.of_all(builder)


def side_of_sources(builder: TaskBuilder) -> Splits:
    """Return the side of each document by its title.

    Where its words are the query and a few titles are those of all, it is by the id.
    """
    titles, spec = builder.documents["title"], builder.spec
    several = titles.n_unique()
    alike = several < _FEW_TITLES and 2 * several < len(titles)
    drawn = spec.relevant == SELF and spec.query_words
    names = builder.documents["id"] if alike and drawn else titles
    return side_of_documents(names, seed=spec.split_seed)


def write_name_queries(builder: TaskBuilder, path: Path, names: Names, view: TextView) -> None:
    """Write names as queries of a directory, in the views of the documents."""

    def counts() -> Iterator[TextMatrix]:
        for first in range(0, len(names.texts), _AT_ONCE):
            yield view.transform(names.texts[first : first + _AT_ONCE].to_list())

    weightings = [Weighting(COUNTS), *builder.spec.weightings]
    write_queries(path, names.keys, names.texts, counts(), view.statistics, weightings)


def without_titles(
    blocks: Iterator[list[bytes]], titles: pl.Series, fields: int = 1
) -> Iterator[list[bytes]]:
    """Cut the title of each text out of it, wherever it stands, however its letters are written.

    Of a title with something in parentheses at its end, what precedes them is cut out, too.

    Parameters
    ----------
    blocks : iterator of list
        Texts; each may be followed by its other fields, which stay as they are.
    titles : Series
        A title for each text.
    fields : int
        Fields of a text, itself among them.

    >>> texts = iter([[b"Apollo 11 was flown by apollo 11's crew."], [b"Mercury is a planet."]])
    >>> list(without_titles(texts, pl.Series(["Apollo 11", "Mercury (planet)"])))
    [[b"  was flown by  's crew."], [b'  is a planet.']]
    """
    position = 0
    for block in blocks:
        for number, text in enumerate(block):
            row, field = divmod(position + number, fields)
            if field == 0:
                cut = _pattern(titles[row]).sub(" ", text.decode(errors="replace"))
                block[number] = cut.encode()
        position += len(block)
        yield block


def _pattern(title: str) -> re.Pattern[str]:
    ways = {title.strip(), re.sub(r"\s*\([^()]*\)$", "", title.strip())} - {""}
    longest_first = sorted(map(re.escape, ways), key=lambda way: (-len(way), way))
    # A title in Latin letters is no part of a longer word.
    ends = [rf"(?<![a-z0-9]){way}(?![a-z0-9])" for way in longest_first]
    return re.compile("|".join(ends) or r"(?!)", re.IGNORECASE)


def anchors_of(builder: TaskBuilder, skipped: dict[str, Any], *by: str) -> pl.DataFrame:
    """Return the anchors: columns ``by``, d, key, weight, and the side of the wording.

    Parameters
    ----------
    skipped : dict
        Told how many were left out.
    by : str
        "text", "target" and perhaps "source"; weights are summed over the others.
    """
    path = builder.collection.relation(ANCHOR)
    with files.reading(builder.collection.path, INGEST):
        anchors = (
            pl.scan_parquet(path, glob=False)
            .group_by(*by)
            .agg(pl.col("weight").cast(pl.Float64).sum())
            .collect(engine="streaming")
        )
    rows = _numbered(builder, anchors, skipped)
    keys = rows["key"].unique()
    sides = side_of_documents(keys, seed=builder.spec.split_seed)
    return rows.join(pl.DataFrame({"key": keys, "side": sides}), on="key")


def titles_of(builder: TaskBuilder, skipped: dict[str, Any]) -> pl.DataFrame:
    """Return the titles that documents were given, and redirects: d, key, text, weight, side."""
    titles = builder.collection.documents.select(text="title", target="id", given=has_title())
    read = titles.collect()
    titled = read.filter("given").drop("given")
    skipped["documents_without_title"] = len(read) - len(titled)
    redirects = builder.collection.redirects.select("text", "target").collect()
    names = pl.concat([titled, redirects]).with_columns(weight=pl.lit(1.0))
    rows = _numbered(builder, names, skipped)
    sides = side_of_documents(builder.documents["title"], seed=builder.spec.split_seed)
    of_rows = pl.Series("side", sides[rows["d"].to_numpy()])
    return rows.with_columns(of_rows).with_columns(pl.col("side").max().over("key"))


def _numbered(builder: TaskBuilder, names: pl.DataFrame, skipped: dict[str, Any]) -> pl.DataFrame:
    """Add d, the row of a document, and key; leave names without words out."""
    language = language_of(builder.collection.path, builder.documents["language"])
    distinct = names["text"].unique()
    keys = pl.Series("key", [" ".join(tokenize(text, language)) for text in distinct])
    rows = pl.DataFrame({"target": builder.documents["id"]}).with_row_index("d")
    joined = names.join(rows, on="target", how="left").join(
        pl.DataFrame({"text": distinct, "key": keys}, schema_overrides={"key": pl.String}),
        on="text",
    )
    if lost := joined["d"].null_count():
        raise BadInput(
            f"{builder.collection.path}: {lost} names are of no document. Ingest it again."
        )
    worded = joined.filter(pl.col("key") != "")
    skipped["names_without_words"] = len(joined) - len(worded)
    return worded


def _write(builder: TaskBuilder, rows: pl.DataFrame) -> Reading:
    """Write the task of names."""
    pairs, queries, names = write_names(builder, builder.path, rows)
    _require_all_sides(builder, pairs)
    builder.counts["pairs"], builder.counts["queries"] = pairs, queries
    builder.write_pools()
    reading = Reading.of_all(builder)
    return Reading(reading.documents, reading.queries, names=names)


def write_names(
    builder: TaskBuilder, path: Path, rows: pl.DataFrame
) -> tuple[dict[str, int], dict[str, int], Names]:
    """Write the pairs of names with documents into a directory.

    Parameters
    ----------
    rows : DataFrame
        d, key, text, weight, side; a key is on one side.

    Returns
    -------
    numbers of pairs and of queries by side, and the names as they are most often written
    """
    keys = rows["key"].unique().sort()
    targets = _rows(rows["key"], keys)
    pairs = rows.select("d", "weight", "side", q=targets, grade=pl.lit(None, pl.Float64))
    counts = write_pairs_of(path / PAIRS, pairs)
    sides = rows.unique("key")["side"]
    queries = {name: int((sides == side).sum()) for side, name in enumerate(SPLITS)}
    write_exclude(path, np.empty((0, 2), np.int32), len(keys), len(builder.documents))
    return counts, queries, Names(keys, _spelled(rows)["text"])


def _spelled(rows: pl.DataFrame) -> pl.DataFrame:
    """Return each key, ascending, and the text that it is most often written as."""
    written = rows.group_by("key", "text").agg(pl.col("weight").sum())
    order = written.sort(["key", "weight", "text"], descending=[False, True, False])
    return order.unique("key", keep="first", maintain_order=True).select("key", "text")


def _rows(names: pl.Series, keys: pl.Series) -> Int32:
    """Return the place of each name among sorted keys."""
    numbered = keys.to_frame("key").with_row_index("q")
    joined = names.to_frame("key").join(numbered, on="key", how="left", maintain_order="left")
    positions: Int32 = joined["q"].to_numpy().astype(np.int32)
    return positions


def _require_all_sides(builder: TaskBuilder, pairs: dict[str, int]) -> None:
    if not any(pairs.values()):
        names = "words of links" if builder.spec.relevant == ANCHOR else "titles"
        raise NoSide(
            f"{builder.collection.path}: there are no {names}, of which queries are made. Ingest "
            "documents that have them, or ask for queries of another kind."
        )
    if missing := [side for side, count in pairs.items() if not count]:
        raise NoSide(
            f"{builder.collection.path}: of its {sum(pairs.values())} pairs of a query and a "
            f"document none is left for {', '.join(missing)}. Ingest more documents, or split "
            f"otherwise: {typed('split-seed', builder.spec.split_seed + 1)}."
        )
