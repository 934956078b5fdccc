"""Documents made ready to be ranked, and what is found among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from ssi_core.evaluation.scorer import Scorer, score_pairs
from ssi_core.kernels.topk import top_k
from ssi_core.serving.passages import Passage
from ssi_core.serving.snippets import snippet
from ssi_core.types import Float32, Int32, Int64, Vectors

# Rows that are scored once more beside the k best.
_SPARE = 16


@dataclass(frozen=True)
class Hit:
    """A document that was found.

    Attributes
    ----------
    score : float
        The model's f(q, d).
    url : str or None
        Address of the document; None: nobody knows.
    snippet : str or None
        A part of its text; None: the index keeps no texts.
    marks : tuple of tuple of int
        Start and end, in characters, of each word of the query in the snippet.
    """

    id: str
    title: str
    score: float
    url: str | None = None
    snippet: str | None = None
    marks: tuple[tuple[int, int], ...] = ()


class Scores(Protocol):
    """Scores of documents for queries."""

    def __call__(self, queries: Vectors, least: int) -> Float32:
        """Return float32 (m, n): the scores of ``least`` or more documents, else ``-inf``."""
        ...


class SupportsRows(Protocol):
    """Texts and addresses of documents, by their rows."""

    def __getitem__(self, row: int, /) -> Passage:
        """Return those of a row."""
        ...


def exactly(documents: Vectors) -> Scores:
    """Score every document."""
    scorer = Scorer(documents)
    return lambda queries, least: scorer.score(queries)


@dataclass(frozen=True)
class Ranked:
    """Some documents and their vectors; ties by ascending row.

    Attributes
    ----------
    ids, titles : polars Series of str
        Length n.
    vectors : Vectors
        Of the n documents.
    scores : Scores
        Of them, all or those that are worth a look.
    hidden : int64 array or None
        Rows that are never found.
    passages : SupportsRows or None
        Texts and addresses by row; None: they are not kept.
    """

    ids: pl.Series
    titles: pl.Series
    vectors: Vectors
    scores: Scores
    hidden: Int64 | None = None
    passages: SupportsRows | None = None

    def best(self, queries: Vectors, k: int) -> list[list[tuple[int, float]]]:
        """Return row and score of the k best documents of each query, best first.

        A document that has no word of the query and meets it in no latent space is no result. The
        score of a document that is found has the same bits whatever else is asked with it.
        """
        wanted = min(k if queries.dense is None else k + _SPARE, len(self.ids))
        scores = self.scores(queries, wanted + (0 if self.hidden is None else len(self.hidden)))
        if queries.dense is None:
            scores[scores == 0] = -np.inf
        if self.hidden is not None:
            scores[:, self.hidden] = -np.inf
        rows = np.empty((len(scores), wanted), np.int32)
        best = np.empty((len(scores), wanted), np.float32)
        top_k(scores, rows, best)
        if queries.dense is not None:
            rows, best = self._in_order(queries, rows, best)
        pairs = zip(rows[:, :k].tolist(), best[:, :k].tolist(), strict=True)
        return [
            [(row, score) for row, score in zip(*both, strict=True) if row >= 0] for both in pairs
        ]

    def _in_order(self, queries: Vectors, rows: Int32, best: Float32) -> tuple[Int32, Float32]:
        # A product of matrices adds up in an order that goes with the number of queries.
        filled = rows >= 0
        pairs = np.column_stack([np.nonzero(filled)[0], rows[filled]]).astype(np.int32)
        best[filled] = score_pairs(queries, self.vectors, pairs)
        order = np.lexsort((rows, -best))
        return np.take_along_axis(rows, order, 1), np.take_along_axis(best, order, 1)

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
        return {self.ids[row]: self._text(self.passages[row], row) for row in rows.tolist()}

    def _text(self, passage: Passage, row: int) -> str:
        return passage.text.removeprefix(f"{self.titles[row]}\n")

    def hit(self, row: int, score: float, words: Mapping[str, float]) -> Hit:
        """Return a document that was found, with the part of its text that has weighed words."""
        names = self.ids[row], self.titles[row], score
        if self.passages is None:
            return Hit(*names)
        passage = self.passages[row]
        shown = snippet(self._text(passage, row), words)
        return Hit(*names, passage.url, shown.text, shown.marks)
