"""Documents made ready to be ranked, and what is found among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from ssi_core.scoring.inner import best_documents, looked_at
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Vectors, first_part
from ssi_core.serving.passages import Passage, SupportsRows
from ssi_core.serving.snippets import NOTHING, Recent, Shown
from ssi_core.text.fields import FIELDS, TEXT
from ssi_core.types import Float32, Int32, Int64, TextMatrix


def _nothing() -> None:
    """Return what is not known."""


@dataclass(frozen=True)
class Hit:
    """A document that was found. What is shown of it is read when it is first asked for.

    Attributes
    ----------
    score : float
        The model's f(q, d).
    url : str or None
        Address of the document; None: nobody knows.
    snippet : str or None
        A part of its text, or the heading that alone has words of the query; None: the index keeps
        no texts.
    marks : tuple of tuple of int
        Start and end, in characters, of each word of the query in the snippet.
    related : tuple of tuple of int
        Start and end of other words that made the score, where a search was asked for them.
    fields : tuple of str
        Fields of the document that have words of the query (`ssi_core.text.fields.FIELDS`), as far
        as the index keeps them.
    """

    id: str
    title: str
    score: float
    # Defaults from factories are no attributes of the class, so that a missing one is asked for.
    url: str | None = field(default_factory=_nothing)
    snippet: str | None = field(default_factory=_nothing)
    marks: tuple[tuple[int, int], ...] = field(default_factory=tuple)
    fields: tuple[str, ...] = field(default_factory=tuple)
    related: tuple[tuple[int, int], ...] = field(default_factory=tuple)

    @classmethod
    def unread(
        cls, id: str, title: str, score: float, read: Callable[[], Mapping[str, Any]]
    ) -> Hit:
        """Return a hit whose other attributes ``read`` gives when one of them is asked for."""
        hit = cls.__new__(cls)
        state = hit.__dict__
        state["id"], state["title"], state["score"], state["_read"] = id, title, score, read
        return hit

    def shown(self) -> dict[str, Any]:
        """Return all attributes by their names, read by now."""
        state = vars(self)
        if (read := state.get("_read")) is not None:
            state.update(read())
            state.pop("_read", None)
        return dict(state)

    __getstate__ = shown

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Read what is shown of the document."""
            state = self.shown() if name in _SHOWN else {}
            if name not in state:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return state[name]


_SHOWN = ("url", "snippet", "marks", "fields", "related")
"""Attributes of a `Hit` that take the text of its document."""


class Scores(Protocol):
    """Scores of documents for queries."""

    def __call__(
        self, queries: Vectors, least: int, hidden: Int64 | None = None, /
    ) -> tuple[Int32, Float32]:
        """Return rows and scores of ``least`` or more documents of each query, as there are.

        Rows are int32 (m, c), of equal scores ascending, -1 with a score of ``-inf`` where there is
        none. Scores are float32 (m, c). Hidden rows, ascending, are never found.
        """
        ...


def exactly(documents: Vectors) -> Scores:
    """Score every document, and return the best."""
    return Scorer(first_part(documents)).best


@dataclass(frozen=True)
class Ranked:
    """Some documents and their vectors; ties by ascending row.

    Attributes
    ----------
    ids, titles : polars Series of str
        Length n.
    vectors : Vectors
        Vectors of the n documents.
    scores : Scores
        Scores of all documents, or of those that are worth a look.
    hidden : int64 array or None
        Rows that are never found, ascending.
    passages : SupportsRows or None
        Fields and addresses by row; None: they are not kept.
    words : mapping
        View name -> words of the documents; empty: they are not kept.
    recent : Recent
        What was shown of them last.
    """

    ids: pl.Series
    titles: pl.Series
    vectors: Vectors
    scores: Scores
    hidden: Int64 | None = None
    passages: SupportsRows | None = None
    words: Mapping[str, TextMatrix] = field(default_factory=dict)
    recent: Recent = field(default_factory=Recent, repr=False, compare=False)

    def best(self, queries: Vectors, k: int) -> list[list[tuple[int, float]]]:
        """Return row and score of the k best documents of each query, best first.

        Where queries have a second stage, those of the first one are given, and ranked by.

        A document that has no word of the query and meets it in no latent space is no result. The
        score of a document that is found has the same bits whatever else is asked with it.
        """
        wanted = looked_at(queries, k, len(self.ids))
        candidates, scores = self.scores(queries, wanted, self.hidden)
        rows, best = best_documents(queries, first_part(self.vectors), scores, k, candidates)
        pairs = zip(rows.tolist(), best.tolist(), strict=True)
        return [
            [(row, score) for row, score in zip(*both, strict=True) if row >= 0] for both in pairs
        ]

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the texts, without the title in front, of those of some documents that are here.

        Parameters
        ----------
        ids : sequence of str
            Ids of documents; hidden ones are not here.
        """
        if self.passages is None:
            return {}
        rows = self.ids.is_in(list(ids)).arg_true().to_numpy()
        if self.hidden is not None:
            rows = np.setdiff1d(rows, self.hidden)
        return {self.ids[row]: self.fields(row)[TEXT] for row in rows.tolist()}

    def find(self, document: str) -> int | None:
        """Return the row of a document that is here, by id or title; None: there is none."""
        for column in (self.ids, self.titles):
            rows = (column == document).arg_true().to_numpy()
            if self.hidden is not None:
                rows = np.setdiff1d(rows, self.hidden)
            if len(rows):
                return int(rows[0])
        return None

    @property
    def shown_titles(self) -> pl.Series:
        """Titles of the documents that are here."""
        if self.hidden is None:
            return self.titles
        return self.titles.gather(np.setdiff1d(np.arange(len(self.titles)), self.hidden))

    def fields(self, row: int) -> dict[str, str]:
        """Return the fields of a document, the text without the title in front.

        They are empty where passages are not kept.
        """
        if self.passages is None:
            return dict.fromkeys(FIELDS, "")
        return self._fields(self.passages[row], row)

    def _fields(self, passage: Passage, row: int) -> dict[str, str]:
        return passage.fields | {TEXT: passage.text.removeprefix(f"{self.titles[row]}\n")}

    def hit(
        self,
        row: int,
        score: float,
        words: Callable[[], Mapping[str, float]],
        related: Mapping[str, float] = NOTHING,
    ) -> Hit:
        """Return a document that was found, with the part of its text that has weighed words."""
        names = self.ids[row], self.titles[row], score
        if self.passages is None:
            return Hit(*names)
        return Hit.unread(*names, partial(self._read, self.passages, row, words, related))

    def _read(
        self,
        passages: SupportsRows,
        row: int,
        words: Callable[[], Mapping[str, float]],
        related: Mapping[str, float],
    ) -> dict[str, Any]:
        """Return what a `Hit` shows of a document."""
        document = self.recent.get(row, lambda: self._shown(row, passages[row]))
        shown, having = document.snippet(words(), related)
        of_text = {"snippet": shown.text, "marks": shown.marks, "related": shown.related}
        return {"url": document.url, **of_text, "fields": having}

    def _shown(self, row: int, passage: Passage) -> Shown:
        return Shown(self._fields(passage, row), passage.url)
