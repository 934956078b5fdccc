"""Sources of frozen sets: queries, documents, and the relevant pairs between them.

- ``link``: documents are queries, too. Known by titles; a link is on the side of the keyed hash of
  its two.
- ``click``: pairs are what was clicked and counts. Known by ids, as a log need not have titles; a
  pair is on the side of the keyed hash of its two, as the split ``pairs`` has it.
- ``translation``, and what it links to: known by titles; a query is on the side of its
  translations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.collection import (
    CLICK,
    INGEST,
    LINK,
    TRANSLATION,
    Collection,
    open_collection,
    relation_at,
)
from ssi_core.collection import Side as Table
from ssi_core.remedies import typed
from ssi_core.tasks.kinds import LINK_OF_TRANSLATION
from ssi_core.tasks.pairs import follow, keys, link_rows
from ssi_core.tasks.split import TEST, side_of_documents, side_of_rows
from ssi_core.types import BadInput, Int32, Int64

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Side:
    """Texts of one side.

    Attributes
    ----------
    parts : sequence of Path
        Files of the texts.
    labels : sequence of Path
        Files of their labels.
    texts : DataFrame
        Id, title, language.
    names : Series
        What a text is known by from day to day.
    """

    parts: Sequence[Path]
    labels: Sequence[Path]
    texts: pl.DataFrame
    names: pl.Series

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Linked:
    """Both sides and what links them.

    Attributes
    ----------
    relevant, key : str
        What is relevant, and key of the collection.
    queries, documents : Side
        `Side`; one and the same object where documents are queries.
    pairs : int32 (n, 2)
        Rows of query and document.
    translations : int32 (m, 2)
        The same for translations.
    """

    relevant: str
    key: str
    queries: Side
    documents: Side
    pairs: Int32
    translations: Int32

    @property
    def same(self) -> bool:
        """Tell whether documents are queries."""
        return self.queries is self.documents

    def tested(self, seed: int) -> Mask:
        """Tell which pairs are on the test side of the keyed hash."""
        if len(self.translations):
            sides = side_of_documents(self.documents.names, seed=seed)
            of_queries = np.zeros(len(self.queries), np.int8)
            ends = self.translations
            np.maximum.at(of_queries, ends[:, 0], sides[ends[:, 1]])
            of_pairs = of_queries[self.pairs[:, 0]]
        else:
            targets = None if self.same else self.documents.names
            of_pairs = side_of_rows(self.queries.names, self.pairs, seed=seed, targets=targets)
        tested: Mask = of_pairs == TEST
        return tested

    def between(self, queries: pl.Series, documents: pl.Series) -> Int64:
        """Return the pairs of which both ends are among some names, (n, 2), as rows of these."""
        ends = (number_of(self.queries.names, queries), number_of(self.documents.names, documents))
        rows = np.column_stack([ends[0][self.pairs[:, 0]], ends[1][self.pairs[:, 1]]])
        both: Int64 = rows[(rows >= 0).all(axis=1)]
        return both


def relevant_in(collection: Collection, wanted: str | None = None) -> str:
    """Return what is relevant to the queries of a frozen set.

    Parameters
    ----------
    wanted : str or None
        What was chosen; None: clicks, else what translations link to, else links.

    Raises
    ------
    BadInput
        The collection has no such relation.
    """
    known = [name for name in (CLICK, LINK_OF_TRANSLATION, TRANSLATION, LINK)
             if name in collection.relevant]  # fmt: skip
    if wanted is None and known:
        return known[0]
    if wanted is None or wanted not in known:
        raise BadInput(
            f"{collection.path}: nothing there says which documents are relevant"
            + (f" by {wanted!r}" if wanted else "")
            + f"; it has {', '.join(map(repr, known)) or 'neither links nor clicks'}. "
            f"Name one of these ({typed('relevant')}), or ingest texts with such a relation."
        )
    return wanted


def read_linked(path: Path, relevant: str | None = None) -> Linked:
    """Read what a frozen set is drawn from, but for its texts.

    Parameters
    ----------
    path : Path
        Directory of a collection.
    relevant : str or None
        What is relevant to a query; None: see `relevant_in`.
    """
    collection = open_collection(path)
    relevant = relevant_in(collection, relevant)
    known_by = "id" if relevant == CLICK else "title"
    documents = _side(collection, "documents", known_by)
    queries = documents
    if collection.has_queries and relevant != LINK:
        queries = _side(collection, "queries", known_by)
    none = np.empty((0, 2), np.int32)
    if relevant == LINK:
        pairs = _links(collection, documents)
        return Linked(relevant, collection.key, queries, documents, pairs, none)
    rows = collection.frame(relation_at(CLICK if relevant == CLICK else TRANSLATION))
    if relevant == CLICK:
        rows = rows.filter(pl.col("weight") > 0)
    ends = (
        number_of(rows["source"], queries.texts["id"]),
        number_of(rows["target"], documents.texts["id"]),
    )
    pairs = np.unique(np.column_stack(ends).astype(np.int32), axis=0)
    if (pairs < 0).any():
        raise BadInput(f"{collection.path}: a pair has an end without a text. {INGEST}")
    if relevant == CLICK:
        return Linked(relevant, collection.key, queries, documents, pairs, none)
    translations = pairs
    if relevant == LINK_OF_TRANSLATION:
        links = _links(collection, documents)
        linked = np.unique(follow(pairs[:, 0], pairs[:, 1], links), axis=0)
        pairs = linked[~np.isin(keys(linked), keys(pairs))]
    return Linked(relevant, collection.key, queries, documents, pairs, translations)


def number_of(names: pl.Series, among: pl.Series) -> Int64:
    """Return the row of each name among others; -1: it is not there."""
    numbered = pl.DataFrame({"name": among, "row": np.arange(len(among))})
    numbered = numbered.unique("name", keep="first")
    joined = names.to_frame("name").join(numbered, on="name", how="left", maintain_order="left")
    rows: Int64 = joined["row"].fill_null(-1).to_numpy()
    return rows


def _side(collection: Collection, table: Table, known_by: str) -> Side:
    texts = collection.names(table)
    return Side(collection.parts(table), collection.labels(table), texts, texts[known_by])


def _links(collection: Collection, documents: Side) -> Int32:
    where = collection.path / relation_at(LINK)
    return link_rows(collection.ends(LINK), documents.texts["id"], where)
