"""A searcher whose documents change while it runs; nothing is trained again.

A new document is read through the model's own words and ranked together with those of the index,
which stays as it is. A `LiveSearcher` never changes: `put` and `drop` return another, so that what
searches in the old one goes on undisturbed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy import sparse

from ssi_core.scoring.vectors import Inner, Several, Vectors
from ssi_core.serving.passages import LONGEST, Passage
from ssi_core.serving.ranked import Ranked, exactly
from ssi_core.serving.searcher import Searcher
from ssi_core.text.fields import join, url_words
from ssi_core.types import TextMatrix, Texts
from ssi_core.views.text_view import rows_in_views


@dataclass(frozen=True)
class Document:
    """A text with an id, a title and perhaps an address and headings, one a line."""

    id: str
    title: str
    text: str
    url: str | None = None
    headings: str = ""

    @property
    def fields(self) -> str:
        """Return all of it as one string (`ssi_core.text.fields`)."""
        short = {"title": self.title, "headings": self.headings}
        return join(text=self.text, url=url_words(self.url or ""), **short)


@dataclass(frozen=True)
class _Added:
    """Documents beside those of the index: their words, their vectors, and what is shown."""

    texts: Texts
    vectors: Vectors
    passages: Sequence[Passage]

    def take(self, rows: ArrayLike) -> _Added:
        some = self.texts.take(rows)
        passages = [self.passages[row] for row in np.asarray(rows).tolist()]
        return _Added(_with(some, dict(some.matrices)), self.vectors.take(rows), passages)

    def followed_by(self, other: _Added) -> _Added:
        one, two = self.texts, other.texts
        both = Texts(
            one.ids.append(two.ids),
            one.titles.append(two.titles),
            {name: _stacked(one.matrix(name), two.matrix(name)) for name in one.matrices},
            one.views,
        )
        passages = [*self.passages, *other.passages]
        return _Added(both, _joined(self.vectors, other.vectors), passages)


class LiveSearcher(Searcher):
    """Rank the documents of a searcher, others added to them, and without those that went.

    A document of the index comes before an added one of the same score.

    Parameters
    ----------
    base : Searcher
        Searcher of an index.
    """

    def __init__(
        self, base: Searcher, added: _Added | None = None, gone: frozenset[str] = frozenset()
    ) -> None:
        index = base.index
        self._base, self._added, self._gone = base, added, gone
        hidden = set(gone) | (set(added.texts.ids) if added is not None else set())
        rows = index.ids.is_in(list(hidden)).arg_true().to_numpy().astype(np.int64)
        self._hidden = frozenset(index.ids[rows])
        ranked = [replace(base.ranked[0], hidden=rows if len(rows) else None)]
        if added is not None:
            texts, vectors, passages = added.texts, added.vectors, added.passages
            of_added = Ranked(
                texts.ids,
                texts.titles,
                vectors,
                exactly(vectors),
                passages=passages,
                words=texts.matrices,
            )
            ranked.append(of_added)
        super().__init__(base.fitted, index, ranked, base.recall)

    def __len__(self) -> int:
        return len(self.index) - len(self._hidden) + self.added

    @property
    def added(self) -> int:
        """Number of documents beside those of the index."""
        return 0 if self._added is None else len(self._added.texts)

    def known(self, ids: Collection[str]) -> set[str]:
        """Return those of the ids that a search can find."""
        present = set(self.index.ids.filter(self.index.ids.is_in(list(ids)))) - self._hidden
        return present if self._added is None else present | (set(ids) & set(self._added.texts.ids))

    def put(self, documents: Sequence[Document]) -> LiveSearcher:
        """Return a searcher with more documents; one that bears the id of an old takes its place.

        Of several with one id, the last counts.
        """
        new = {document.id: document for document in documents}
        if not new:
            return self
        views, fitted = self.fitted.document_views, self.fitted
        whole = [_readable(document.fields) for document in new.values()]
        texts = Texts(
            pl.Series("id", list(new), dtype=pl.String),
            pl.Series("title", [document.title for document in new.values()], dtype=pl.String),
            rows_in_views(views, whole),
            views,
        )
        passages = [_passage(document) for document in new.values()]
        added = _Added(texts, fitted.embed_documents(texts), passages)
        kept = self._without(new)
        added = added if kept is None else kept.followed_by(added)
        return LiveSearcher(self._base, added, self._gone.difference(new))

    def drop(self, ids: Collection[str]) -> LiveSearcher:
        """Return a searcher without some documents; ids that it does not have are passed over."""
        return LiveSearcher(self._base, self._without(ids), self._gone.union(ids))

    def document(self, name: str) -> Texts:
        """Return the words of a document, by title or id; see `Searcher.document`."""
        number, row = self.find(name)
        if number and self._added is not None:
            return self._added.texts.take(slice(row, row + 1))
        return super().document(name)

    def _without(self, ids: Collection[str]) -> _Added | None:
        if self._added is None:
            return None
        rows = (~self._added.texts.ids.is_in(list(ids))).arg_true().to_numpy()
        return self._added.take(rows) if len(rows) else None


def _passage(document: Document) -> Passage:
    of = (document.text, document.title, document.headings)
    text, title, headings = map(_readable, of)
    return Passage(document.url, text[:LONGEST], title, headings, rest=text[LONGEST:])


def _readable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _with(texts: Texts, matrices: dict[str, TextMatrix]) -> Texts:
    return Texts(texts.ids, texts.titles, matrices, texts.views)


def _stacked(one: TextMatrix, two: TextMatrix) -> TextMatrix:
    both: TextMatrix = sparse.vstack([one, two], format="csr")
    return both


def _joined(one: Vectors, other: Vectors) -> Vectors:
    if isinstance(one, Several) and isinstance(other, Several):
        return Several(parts=tuple(map(_joined, one.parts, other.parts)))
    sparse_part = dense_part = None
    if one.sparse is not None and other.sparse is not None:
        sparse_part = _stacked(one.sparse, other.sparse)
    if one.dense is not None and other.dense is not None:
        dense_part = np.concatenate([one.dense, other.dense])
    return Inner(sparse_part, dense_part)
