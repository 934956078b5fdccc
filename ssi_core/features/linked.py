"""What frozen sets are drawn from: queries, documents, and the relevant pairs between them.

- A corpus: documents are queries, too, and pairs are links. Known by titles; a link is on the side
  of the keyed hash of its two.
- Clicks: pages are queries, ads documents, and pairs what was clicked and counts. Known by ids, as
  a log need not have titles; a pair is on the side of the keyed hash of its two, as the split
  ``pairs`` has it.
- Mates: documents in one language are queries, those in another documents, and pairs what a
  query's mate links to, or the mate. Known by titles; a query is on the side of its mates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core import files, store
from ssi_core.features.pairs import follow, link_rows
from ssi_core.features.reading import INGEST, parts_of
from ssi_core.features.split import TEST, side_of_documents, side_of_rows
from ssi_core.types import BadInput, Int32, Int64

KINDS = ("corpus", "clicks", "mates")

Mask = NDArray[np.bool_]


class Mates(Protocol):
    """Two corpora and the pairs between them; `corpus.mates.Mates` is one."""

    @property
    def path(self) -> Path:
        """Directory of the mates."""
        ...

    @property
    def artefact(self) -> store.Artefact:
        """Manifest of the mates."""
        ...

    @property
    def queries(self) -> Path:
        """Corpus of the queries."""
        ...

    @property
    def documents(self) -> Path:
        """Corpus of the documents."""
        ...

    @property
    def pairs(self) -> pl.DataFrame:
        """Columns ``query`` and ``document``: ids."""
        ...

    @property
    def dictionary(self) -> Path | None:
        """Parquet with columns ``source`` and ``target``."""
        ...


@dataclass(frozen=True)
class Side:
    """Texts of one side.

    Attributes
    ----------
    corpus : their directory
    texts : id, title, language
    names : what a text is known by from day to day
    """

    corpus: Path
    texts: pl.DataFrame
    names: pl.Series

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Linked:
    """Both sides and what links them.

    Attributes
    ----------
    kind, key : of the artefact
    queries, documents : `Side`; one and the same object where documents are queries
    pairs : int32 (n, 2), rows of query and document
    mates : int32 (m, 2), the same for mates
    """

    kind: str
    key: str
    queries: Side
    documents: Side
    pairs: Int32
    mates: Int32

    @property
    def same(self) -> bool:
        """Whether documents are queries."""
        return self.queries is self.documents

    def tested(self, seed: int) -> Mask:
        """Tell which pairs are on the test side of the keyed hash."""
        if self.kind == "mates":
            sides = side_of_documents(self.documents.names, seed=seed)
            mine = np.zeros(len(self.queries), np.int8)
            np.maximum.at(mine, self.mates[:, 0], sides[self.mates[:, 1]])
            of_pairs = mine[self.pairs[:, 0]]
        else:
            targets = None if self.same else self.documents.names
            of_pairs = side_of_rows(self.queries.names, self.pairs, seed=seed, targets=targets)
        tested: Mask = of_pairs == TEST
        return tested

    def between(self, queries: pl.Series, documents: pl.Series) -> Int64:
        """Return the pairs of which both ends are among some names, (n, 2), as rows of these."""
        ends = (number_of(self.queries.names, queries), number_of(self.documents.names, documents))
        found = np.column_stack([ends[0][self.pairs[:, 0]], ends[1][self.pairs[:, 1]]])
        both: Int64 = found[(found >= 0).all(axis=1)]
        return both


def read_linked(source: Path | Mates, relevant: str | None = None) -> Linked:
    """Read what a frozen set is drawn from, but for its texts.

    Parameters
    ----------
    source : directory of a corpus or of clicks, or opened mates
    relevant : of mates: "link" or "mate"
    """
    if not isinstance(source, Path):
        return _mates(source, relevant or "link")
    made = store.read(source)
    if made.kind == "clicks":
        return _clicks(source, made.key)
    if made.kind != "corpus":
        raise BadInput(
            f"{source} is a {made.kind!r} artefact, expected a corpus, clicks or mates. Name what "
            "'ssi ingest' wrote."
        )
    own = _side(source, "title")
    return Linked("corpus", made.key, own, own, _links(source, own), np.empty((0, 2), np.int32))


def number_of(names: pl.Series, among: pl.Series) -> Int64:
    """Row of each name among others; -1: it is not there."""
    numbered = pl.DataFrame({"name": among, "row": np.arange(len(among))}).unique("name")
    joined = names.to_frame("name").join(numbered, on="name", how="left", maintain_order="left")
    found: Int64 = joined["row"].fill_null(-1).to_numpy()
    return found


def _side(corpus: Path, known_by: str) -> Side:
    parts = parts_of(corpus, "documents")
    texts = files.read_strings(parts, "id", "title", "language", remedy=INGEST)
    return Side(corpus, texts, texts[known_by])


def _links(corpus: Path, own: Side) -> Int32:
    parts = parts_of(corpus, "links")
    links = (files.read_strings([part], "source", "target", remedy=INGEST) for part in parts)
    return link_rows(links, own.texts["id"], corpus / "links")


def _clicks(clicks: Path, key: str) -> Linked:
    pages = _side(clicks / "pages", "id")
    ads = _side(clicks / "ads", "id") if (clicks / "ads").exists() else pages
    with files.reading(clicks / "pairs.parquet", INGEST):
        clicked = pl.read_parquet(clicks / "pairs.parquet", glob=False).filter(pl.col("weight") > 0)
    ends = number_of(clicked["page"], pages.names), number_of(clicked["ad"], ads.names)
    pairs = np.unique(np.column_stack(ends).astype(np.int32), axis=0)
    if (pairs < 0).any():
        raise BadInput(f"{clicks}: a pair has a page or an ad without a text. {INGEST}")
    return Linked("clicks", key, pages, ads, pairs, np.empty((0, 2), np.int32))


def _mates(mates: Mates, relevant: str) -> Linked:
    queries, documents = _side(mates.queries, "title"), _side(mates.documents, "title")
    ends = (
        number_of(mates.pairs["query"], queries.texts["id"]),
        number_of(mates.pairs["document"], documents.texts["id"]),
    )
    own = np.unique(np.column_stack(ends).astype(np.int32), axis=0)
    if (own < 0).any():
        raise BadInput(f"{mates.path}: a mate is no document. Make the mates again.")
    pairs = own
    if relevant == "link":
        links = _links(mates.documents, documents)
        linked = np.unique(follow(own[:, 0], own[:, 1], links), axis=0)
        pairs = linked[~np.isin(keys(linked), keys(own))]
    return Linked("mates", mates.artefact.key, queries, documents, pairs, own)


def keys(rows: NDArray[np.integer]) -> Int64:
    """Both rows of a pair in one number."""
    found: Int64 = (rows[:, 0].astype(np.int64) << 32) | rows[:, 1]
    return found


def texts_at(corpus: Path, rows: NDArray[np.integer]) -> pl.Series:
    """Texts of some rows of a corpus, ascending; one part of it is held at a time."""
    return texts_in(parts_of(corpus, "documents"), rows)


def texts_in(parts: Sequence[Path], rows: NDArray[np.integer]) -> pl.Series:
    """Texts of some rows, ascending, of the documents in some files."""
    found, first = [], 0
    for part in parts:
        text = files.read_strings([part], "text", remedy=INGEST)["text"]
        own = rows[(rows >= first) & (rows < first + len(text))] - first
        found.append(text.gather(own))
        first += len(text)
    return pl.concat(found)
