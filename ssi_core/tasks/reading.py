"""Texts of a collection as the features read them: in batches, in one language, with fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core import files
from ssi_core.collection import (
    ANCHOR,
    ENDS,
    INGEST,
    NAMED,
    REDIRECT,
    Collection,
    Side,
    has_title,
    relation_at,
)
from ssi_core.remedies import typed
from ssi_core.tasks.layout import RAW
from ssi_core.text import fields
from ssi_core.types import BadInput
from ssi_core.views.lexicon import batches


def texts_of(
    collection: Collection,
    side: Side = "documents",
    kept: NDArray[np.bool_] | None = None,
    short: Sequence[Path] = (),
) -> Iterator[list[bytes]]:
    """Yield texts in UTF-8, in batches; one part of the collection is held at a time.

    Parameters
    ----------
    side : str
        "documents" or "queries".
    kept : bool array or None
        Which texts; None: all.
    short : sequence of Path
        Files of their short fields, see `texts_in`; empty: texts alone.
    """
    first = 0
    parts = collection.parts(collection.table_of(side))
    for part, of_part in zip_longest(parts, short):
        rest = None if kept is None else kept[first:]
        yield from texts_in(part, rest, of_part)
        if kept is not None:
            first += pl.scan_parquet(part, glob=False).select(pl.len()).collect().item()


def texts_in(
    part: Path, kept: NDArray[np.bool_] | None = None, short: Path | None = None
) -> Iterator[list[bytes]]:
    """Yield the texts of a file in UTF-8, in batches.

    Parameters
    ----------
    kept : bool array or None
        Which texts of this file, and of those after it; None: all.
    short : Path or None
        File of the short fields of the same texts: each text is followed by its own, in the order
        of `ssi_core.text.fields.SHORT`. None: texts alone.
    """
    texts = files.read_strings([part], "text", remedy=INGEST)
    if short is not None:
        texts = texts.hstack(files.read_strings([short], *fields.SHORT))
    if kept is not None:
        texts = texts.filter(pl.Series(kept[: len(texts)]))
    slices = texts.cast(pl.Binary).iter_slices(1024)
    rows = (zip(*(few[name].to_list() for name in few.columns), strict=True) for few in slices)
    yield from batches(chain.from_iterable(chain.from_iterable(rows)))


def fields_in(part: Path) -> pl.DataFrame:
    """Return title, headings and words of the address of the documents of a file, never null.

    A title that was made of the text is no field of its own.
    """
    nothing = pl.lit(None, pl.String)
    with files.reading(part, INGEST):
        rows = pl.scan_parquet(part, glob=False)
        known = rows.collect_schema()
        frame = rows.select(
            title=pl.when(has_title()).then("title"),
            headings=pl.col("headings") if "headings" in known else nothing,
            url=pl.col("url"),
        )
        read = frame.collect().fill_null("")
    urls = pl.Series("url", map(fields.url_words, read["url"]), dtype=pl.String)
    plain = pl.all().str.replace_all(fields.SEPARATOR, " ", literal=True)
    return read.with_columns(urls).select(plain)


def names_in(collection: Collection, relation: str) -> pl.DataFrame:
    """Return what documents are called by links (`ANCHOR`) or by redirects (`REDIRECT`).

    Columns ``source``, ``target`` and ``text``, a row for each source and name; titles of redirects
    are as they are written.
    """
    if relation not in collection.relations:
        return pl.DataFrame(schema={**ENDS, **NAMED})
    return collection.frame(relation_at(relation)).select(*ENDS, *NAMED)


def lines_of(names: pl.DataFrame, ids: pl.Series) -> pl.Series:
    """Return the names of some documents, a line each; "" where there is none.

    A name that n others use is there ``1 + log2 n`` times, rounded down.
    """
    used = names.group_by("target", "text").agg(pl.col("source").n_unique().alias("n"))
    times = 1 + pl.col("n").log(2).add(1e-9).floor().cast(pl.Int64)
    repeated = used.sort("target", "text").select(
        "target", pl.col("text").repeat_by(times).list.join("\n")
    )
    lines = repeated.group_by("target", maintain_order=True).agg(pl.col("text").str.join("\n"))
    rows = ids.to_frame("target").join(lines, on="target", how="left", maintain_order="left")
    return rows["text"].fill_null("")


def names_of(collection: Collection, ids: pl.Series) -> pl.DataFrame:
    """Return what some documents are called: ``title`` by redirects, ``anchors`` by links.

    A row for each document, with a name a line (`lines_of`).
    """
    named = {"title": REDIRECT, "anchors": ANCHOR}
    lines = [lines_of(names_in(collection, of), ids).alias(name) for name, of in named.items()]
    return pl.DataFrame(lines)


def with_redirects(titles: pl.Series, redirects: pl.Series) -> pl.Series:
    """Return titles, each followed by the titles of redirects to its document, a line each."""
    return pl.select(pl.concat_str(titles, redirects, separator="\n").str.strip_chars("\n"))[
        titles.name
    ]


def joined(text: pl.Series, short: pl.DataFrame) -> pl.Series:
    """Return texts and some of their short fields as one string each."""
    columns = [short[name] if name in short.columns else pl.lit("") for name in fields.SHORT]
    plain = text.str.replace_all(fields.SEPARATOR, " ", literal=True)
    return pl.select(
        pl.concat_str([plain, *columns], separator=fields.SEPARATOR)
        .str.strip_chars_end(fields.SEPARATOR)
        .alias("text")
    )["text"]


def raw_texts(task: Path) -> list[Path]:
    """Return the files of the documents of a task as the collection has them, in its order."""
    return files.parts_in(task / RAW)


def texts_at(parts: Sequence[Path], rows: NDArray[np.integer]) -> pl.Series:
    """Read the texts of some rows, ascending, of the texts in some files, one held at a time."""
    chunks, first = [], 0
    for part in parts:
        text = files.read_strings([part], "text", remedy=INGEST)["text"]
        chunks.append(text.gather(rows[(rows >= first) & (rows < first + len(text))] - first))
        first += len(text)
    return pl.concat(chunks)


def language_of(where: Path, languages: pl.Series) -> str:
    """Return the one language of texts; `BadInput` names several."""
    codes = languages.unique().sort().to_list()
    if len(codes) > 1:
        raise BadInput(
            f"{where}: texts in {len(codes)} languages ({', '.join(map(str, codes[:5]))}); one "
            f"vocabulary has one. Ingest them as one ({typed('language', 'any')}), or each by "
            f"itself, or take two ({typed('vocabularies', 'two')}) for queries in another language."
        )
    return codes[0] or ""
