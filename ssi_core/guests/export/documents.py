"""Documents of an export, as a model sees them: of an index, or raw texts; a block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from ssi_core.collection import open_collection
from ssi_core.models.base import FittedModel
from ssi_core.scoring.vectors import Inner, Vectors, refuse_nan
from ssi_core.serving.index import Index
from ssi_core.tasks.unseen import Raw, require_known, texts_in_views
from ssi_core.types import BadInput

BLOCK = 4096


class Block(NamedTuple):
    """Some documents and their vectors."""

    ids: list[str]
    titles: list[str]
    vectors: Vectors


@dataclass(frozen=True)
class Documents:
    """Documents that can be gone through more than once.

    Attributes
    ----------
    ids, titles : polars Series of str
        One entry for each document.
    key : str
        Digest of what they are.
    vectors : callable
        ``vectors(rows)`` of a slice of them.
    """

    ids: pl.Series
    titles: pl.Series
    key: str
    vectors: Callable[[slice], Vectors]

    def __len__(self) -> int:
        return len(self.ids)

    def blocks(self) -> Iterator[Block]:
        """Yield the documents in their order."""
        for start in range(0, len(self), BLOCK):
            rows = slice(start, min(start + BLOCK, len(self)))
            ids, titles = (one[rows].to_list() for one in (self.ids, self.titles))
            yield Block(ids, titles, self.vectors(rows))


def of_index(fitted: FittedModel, index: Index) -> Documents:
    """Return the documents of an index; `BadInput` where it was made with another model's words."""
    index.check(fitted)

    parts = Inner(index.vectors.sparse, index.vectors.dense)

    def vectors(rows: slice) -> Vectors:
        return parts.take(rows)

    return Documents(index.ids, index.titles, index.artefact.key, vectors)


def of_collection(fitted: FittedModel, path: Path) -> Documents:
    """Read the documents of a collection with the words that a model knows.

    Raises
    ------
    BadInput
        There are no documents, they are in another language than the model reads, or it knows
        nearly none of their words.
    """
    collection = open_collection(path)
    frame = collection.frame("documents").select("id", "title", "language", "text")
    if not len(frame):
        raise BadInput(f"{path}: there are no documents to export. Ingest a corpus that has some.")
    reads_documents = FittedModel(
        fitted.model, fitted.arrays, fitted.document_views, fitted.document_views
    )
    require_known(Raw(frame, frame), reads_documents, path)

    def vectors(rows: slice) -> Vectors:
        texts = texts_in_views(frame[rows], fitted.document_views)
        return refuse_nan(fitted.embed_documents(texts), str(path))

    return Documents(frame["id"], frame["title"], collection.key, vectors)
