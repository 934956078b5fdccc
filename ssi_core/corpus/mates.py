"""Mates: pairs of documents in two languages on one subject, and where their two corpora are.

A directory with ``artefact.json``, ``.corpora.json`` (the places of the corpora), ``mates.parquet``
and, where the source has a lexicon, ``dictionary.parquet``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ssi_core import files, store
from ssi_core.corpus import tables
from ssi_core.store import Artefact
from ssi_core.types import BadInput

KIND = "mates"
PAIRS: Mapping[str, pl.DataType] = {"query": pl.String(), "document": pl.String()}
"""Schema of ``mates.parquet``: ids in the corpora, each at most once."""
DICTIONARY: Mapping[str, pl.DataType] = {"source": pl.String(), "target": pl.String()}
"""Schema of ``dictionary.parquet``: a term and a translation of it, distinct pairs."""

SIDES = ("queries", "documents")
_PLACES, _PAIRS, _DICTIONARY = ".corpora.json", "mates.parquet", "dictionary.parquet"
_REMEDY = "Remove it and make it again (ssi ingest mates)."


@dataclass(frozen=True)
class Mates:
    """Opened mates.

    Attributes
    ----------
    path, artefact : the directory and its manifest
    queries, documents : directories of the two corpora
    pairs : columns ``query`` and ``document``, ids in the two; no id is there twice
    dictionary : parquet file with columns ``source`` (language of the queries) and ``target``,
        None where the source of the mates has none
    """

    path: Path
    artefact: Artefact
    queries: Path
    documents: Path
    pairs: pl.DataFrame
    dictionary: Path | None


def open_mates(path: Path) -> Mates:
    """Open a directory of mates.

    Raises
    ------
    BadInput
        It is none, is damaged, or one of its corpora is gone or was made anew from other input.
    """
    path = Path(path)
    artefact = store.read(path, KIND)
    said = files.read_object(path / _PLACES, _REMEDY)
    queries, documents = (_corpus(path, artefact, side, said.get(side)) for side in SIDES)
    pairs = files.read_strings([path / _PAIRS], *PAIRS, remedy=_REMEDY)
    dictionary = path / _DICTIONARY
    found = dictionary if dictionary.exists() else None
    return Mates(path, artefact, queries, documents, pairs, found)


def _corpus(path: Path, artefact: Artefact, side: str, place: object) -> Path:
    if not isinstance(place, str):
        raise BadInput(f"{path / _PLACES}: it names no corpus of {side}. {_REMEDY}")
    corpus = path / place
    if store.read(corpus, tables.KIND).key != artefact.parents.get(side):
        raise BadInput(
            f"{path}: the corpus {corpus} isn't the one that these mates were found in. {_REMEDY}"
        )
    return corpus


def write_places(directory: Path, queries: Path, documents: Path) -> None:
    """Write where the corpora are; a relative place is one inside the directory of the mates."""
    places = dict(zip(SIDES, (str(queries), str(documents)), strict=True))
    store.write_json(directory / _PLACES, places)


def write_pairs(directory: Path, pairs: pl.DataFrame) -> None:
    """Write ``mates.parquet``."""
    _write(directory / _PAIRS, pairs, PAIRS)


def write_dictionary(directory: Path, entries: pl.DataFrame) -> None:
    """Write ``dictionary.parquet``."""
    _write(directory / _DICTIONARY, entries, DICTIONARY)


def _write(path: Path, frame: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> None:
    columns = [pl.col(name).cast(dtype) for name, dtype in schema.items()]
    frame.select(columns).write_parquet(path, compression="zstd")
