"""Texts of a collection as the features read them: in batches, in one language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core import files
from ssi_core.collection import INGEST, Collection, Side
from ssi_core.tasks.layout import RAW
from ssi_core.types import BadInput
from ssi_core.views.lexicon import batches


def texts_of(
    collection: Collection, side: Side = "documents", kept: NDArray[np.bool_] | None = None
) -> Iterator[list[bytes]]:
    """Yield texts in UTF-8, in batches; one part of the collection is held at a time.

    Parameters
    ----------
    side : str
        "documents" or "queries".
    kept : bool array or None
        Which texts; None: all.
    """
    first = 0
    for part in collection.parts(collection.table_of(side)):
        rest = None if kept is None else kept[first:]
        yield from texts_in(part, rest)
        if kept is not None:
            first += pl.scan_parquet(part, glob=False).select(pl.len()).collect().item()


def texts_in(part: Path, kept: NDArray[np.bool_] | None = None) -> Iterator[list[bytes]]:
    """Yield the texts of a file in UTF-8, in batches.

    Parameters
    ----------
    kept : bool array or None
        Which texts of this file, and of those after it; None: all.
    """
    texts = files.read_strings([part], "text", remedy=INGEST).cast(pl.Binary)
    if kept is not None:
        texts = texts.filter(pl.Series(kept[: len(texts)]))
    slices = (part_of["text"].to_list() for part_of in texts.iter_slices(1024))
    yield from batches(text for few in slices for text in few)


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
            "vocabulary has one. Take two vocabularies (--vocabularies two) for queries in another "
            "language, or ingest each language by itself."
        )
    return codes[0] or ""
