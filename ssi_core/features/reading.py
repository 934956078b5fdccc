"""A corpus directory as the features read it: its tables, its texts, its language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core import files
from ssi_core.features.lexicon import batches
from ssi_core.types import BadInput

INGEST = "Remove the corpus and ingest it again."


def parts_of(corpus: Path, table: str) -> list[Path]:
    """Files of a table; `BadInput` when there is none."""
    parts = files.parts_in(corpus / table)
    if not parts:
        raise BadInput(f"{corpus / table}: no part-*.parquet in it. {INGEST}")
    return parts


def texts_of(corpus: Path, kept: NDArray[np.bool_] | None = None) -> Iterator[list[bytes]]:
    """Texts in UTF-8, in batches; one part of the corpus is held at a time.

    Parameters
    ----------
    kept : bool, which documents; None: all
    """
    first = 0
    for part in parts_of(corpus, "documents"):
        texts = files.read_strings([part], "text", remedy=INGEST).cast(pl.Binary)
        last = first + len(texts)
        if kept is not None:
            texts = texts.filter(pl.Series(kept[first:last]))
        pieces = (piece["text"].to_list() for piece in texts.iter_slices(1024))
        yield from batches(text for piece in pieces for text in piece)
        first = last


def language_of(corpus: Path, languages: pl.Series) -> str:
    """Return the one language of documents; `BadInput` names several."""
    found = languages.unique().sort().to_list()
    if len(found) > 1:
        raise BadInput(
            f"{corpus}: documents in {len(found)} languages ({', '.join(map(str, found[:5]))}); "
            "a task has one. Ingest each language into a corpus of its own."
        )
    return found[0] or ""
