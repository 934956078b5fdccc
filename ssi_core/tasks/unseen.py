"""Texts that a model was not trained on: raw, read with the model's own words.

A number that comes out is worth something only where the model knows words of the texts. So what
it knows of them is measured before anything is ranked, as the share of running words that are in
none of its columns:

- texts in another language than the model reads are refused, and so are texts of which it knows
  (nearly) no word: all that would be ranked are numerals and names;
- above one half, most of a text is not read, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import files
from ssi_core.collection import INGEST, Collection, Side
from ssi_core.scoring.vectors import Fitted, Vectors
from ssi_core.tasks.labels import read_labels
from ssi_core.tasks.reading import fields_in, joined, names_of, with_redirects
from ssi_core.text.tokenizer import spoken
from ssi_core.types import BadInput, Task, Texts, View
from ssi_core.views.rewriting import RewrittenView
from ssi_core.views.text_view import TextView, rows_in_views

MOST_UNKNOWN = 0.5
"""Share of unknown words above which a warning is due."""
TOO_MANY_UNKNOWN = 0.9
"""Share of unknown words above which texts are refused."""

_SIDES: Mapping[str, Side] = {"query": "queries", "document": "documents"}
_SAMPLE = 500
_ANY_LANGUAGE = ("", "any", None)


@dataclass(frozen=True)
class Raw:
    """Both sides of a data set, as texts.

    Attributes
    ----------
    queries, documents : DataFrame
        Columns id, title, language, text; one and the same object where documents are queries.
    labels : mapping
        "query" or "document" -> columns id, column, value (`labels.read_labels`).
    """

    queries: pl.DataFrame
    documents: pl.DataFrame
    labels: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @classmethod
    def of(cls, collection: Collection) -> Raw:
        """Read the texts of a collection, both sides."""
        texts = {side: documents_of(collection, side) for side in collection.sides}
        documents = texts["documents"]
        labels = {
            name: read_labels(collection.labels(side), texts[collection.table_of(side)])
            for name, side in _SIDES.items()
        }
        return cls(texts.get("queries", documents), documents, labels)

    @property
    def sides(self) -> dict[str, pl.DataFrame]:
        """Both by the names that messages have for them."""
        return {"queries": self.queries, "documents": self.documents}


def documents_of(collection: Collection, side: Side = "documents") -> pl.DataFrame:
    """Read id, title, language and text of a side; a text has its other fields behind it."""
    columns = ("id", "title", "language", "text")
    parts = collection.parts(side)
    frame = files.read_strings(parts, *columns, remedy=INGEST)
    if side == "queries" and collection.has_queries:
        return frame
    short = pl.concat([fields_in(part) for part in parts])
    names = names_of(collection, frame["id"])
    titles = with_redirects(short["title"], names["title"])
    return frame.with_columns(joined(frame["text"], short.with_columns(titles, names["anchors"])))


def texts_in_views(texts: pl.DataFrame, views: Mapping[str, View]) -> Texts:
    """Read raw texts (columns id, title, text) in the views of a model."""
    matrices = rows_in_views(views, texts["text"].to_list())
    return Texts(texts["id"], texts["title"], matrices, views)


def both_sides(raw: Raw, fitted: Fitted) -> tuple[Texts, Texts]:
    """Read queries and documents in a model's views; one object where both are the same."""
    documents = texts_in_views(raw.documents, fitted.document_views)
    one = raw.queries is raw.documents and fitted.query_views is fitted.document_views
    return documents if one else texts_in_views(raw.queries, fitted.query_views), documents


def unknown_share(view: View, texts: pl.Series) -> float:
    """Return the share of the running words of texts that are no column of a view.

    Of translated texts the words are those after the translation; of hashed ones all words that the
    hashing knows count as known. 1 where there is no word at all. A sample of 500 texts, at equal
    distances, stands for more.
    """
    rows = np.linspace(0, len(texts) - 1, min(_SAMPLE, len(texts))).astype(int)
    read = texts.gather(rows).to_list()
    width = len(view.words)
    if isinstance(view, RewrittenView):
        read, view = view.rewritten(read), view.base
    if not isinstance(view, TextView):
        view = view.base  # type: ignore[attr-defined]
        width = len(view.words)
    assert isinstance(view, TextView)
    words = unknown = 0
    for columns, _ in view.in_order(text.encode(errors="replace") for text in read):
        words += len(columns)
        unknown += int(np.count_nonzero((columns < 0) | (columns >= width)))
    return unknown / words if words else 1.0


def require_known(raw: Raw, fitted: Fitted, where: Path) -> dict[str, float]:
    """Return the share of unknown words of "queries" and "documents"; refuse what is not read.

    Raises
    ------
    BadInput
        No text of a side is in the language that the model reads it in, or nearly no word of it is
        known.
    """
    shares = {}
    for (side, texts), views in zip(
        raw.sides.items(), (fitted.query_views, fitted.document_views), strict=True
    ):
        widest = max(views.values(), key=lambda view: len(view.words))
        _require_language(texts["language"], widest.language, side, where)
        shares[side] = unknown_share(widest, texts["text"])
        if shares[side] > TOO_MANY_UNKNOWN:
            raise BadInput(
                f"{where}: {shares[side]:.0%} of the words of the {side} are unknown to this model "
                f"({len(widest.words):,} words in {widest.language!r}), so that its numbers would "
                "mean nothing there. Train a model on such texts, or name the language that they "
                "are in when they are ingested."
            )
    return shares


def _require_language(languages: pl.Series, read: str, side: str, where: Path) -> None:
    codes, read = languages.unique().sort().to_list(), spoken(read)
    if read in _ANY_LANGUAGE or any(code == read or code in _ANY_LANGUAGE for code in codes):
        return
    raise BadInput(
        f"{where}: its {side} are in {', '.join(map(repr, codes[:5]))}, and this model reads "
        f"{side} in {read!r}. Take a model that was trained on such texts; for queries in one "
        "language and documents in another, one that was trained on translations ('ssi data ingest "
        "mates', 'ssi data features COLLECTION --relevant translation')."
    )


def require_scores(task: Task, fitted: Fitted, where: Path) -> None:
    """Refuse a model for which all documents of a task are alike.

    A model of documents, such as the in-degree, knows none of other data.
    """
    rows = np.unique(task.test.rows[:, 1])[:_SAMPLE]
    if not _tell_apart(fitted.embed_documents(task.documents.take(rows))):
        raise BadInput(
            f"{where}: this model gives every document there the same score: what it has learnt is "
            "about documents of its own data, not about words. Take a model of words."
        )


def _tell_apart(vectors: Vectors) -> bool:
    return any(bool(np.any(array)) for array in vectors.arrays())
