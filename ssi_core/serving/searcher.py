"""Text in, titles out: a model, its index, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ssi_core.evaluation.scorer import Scorer
from ssi_core.kernels.topk import top_k
from ssi_core.serving.index import Index
from ssi_core.types import Fitted, Float32, Texts, Vectors

# Scores of one block of queries: 2^26 of them are 256 MiB.
_SCORES = 1 << 26

NOTHING_KNOWN = (
    "none of the query's words is one that the model knows (or all of them are in every document)"
)


@dataclass(frozen=True)
class Hit:
    """A document that was found; ``score`` is the model's f(q, d)."""

    id: str
    title: str
    score: float


@dataclass(frozen=True)
class Answer:
    """What one query finds, best first; ``reason`` says why there is nothing, else it is None."""

    hits: tuple[Hit, ...]
    reason: str | None = None


class Searcher:
    """Rank the documents of an index for raw text; exact, ties by ascending document row."""

    def __init__(self, fitted: Fitted, index: Index) -> None:
        index.check(fitted.document_views)
        self.fitted, self.index = fitted, index
        self._scorer = Scorer(index.vectors)

    def queries(self, texts: Sequence[str]) -> Texts:
        """Queries in the model's own copies of its views."""
        views = self.fitted.query_views
        matrices = {name: view.transform(texts) for name, view in views.items()}
        names = pl.Series("id", [str(row) for row in range(len(texts))], dtype=pl.String)
        return Texts(names, pl.Series("title", list(texts), dtype=pl.String), matrices, views)

    def search(self, texts: Sequence[str], k: int = 10) -> list[Answer]:
        """Return the k best documents of each text.

        A document that has no word of the query and meets it in no latent space is no result, so
        that there may be fewer than k.

        Raises
        ------
        ValueError
            ``k`` is not positive.
        """
        if k < 1:
            raise ValueError(f"k={k}, expected at least 1")
        queries = self.queries(texts)
        block = max(1, _SCORES // max(len(self.index), 1))
        answers: list[Answer] = []
        for start in range(0, len(texts), block):
            answers += self._answer(queries.take(slice(start, start + block)), k)
        return answers

    def _answer(self, queries: Texts, k: int) -> list[Answer]:
        vectors = self.fitted.embed_queries(queries)
        scores = self._scorer.score(vectors)
        if vectors.dense is None:
            scores[scores == 0] = -np.inf
        k = min(k, len(self.index))
        rows = np.empty((len(queries), k), np.int32)
        best = np.empty((len(queries), k), np.float32)
        top_k(scores, rows, best)
        known = weighs(vectors)
        return [
            self._hits(rows[q], best[q]) if known[q] else Answer((), NOTHING_KNOWN)
            for q in range(len(queries))
        ]

    def _hits(self, rows: np.ndarray[tuple[int], np.dtype[np.int32]], scores: Float32) -> Answer:
        ids, titles = self.index.ids, self.index.titles
        hits = tuple(
            Hit(ids[int(row)], titles[int(row)], float(score))
            for row, score in zip(rows, scores, strict=True)
            if row >= 0
        )
        return Answer(hits, None if hits else "no document of the index has a word of the query")


def weighs(vectors: Vectors) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell the rows that are not zero throughout: bool (n,)."""
    parts = []
    if vectors.sparse is not None:
        parts.append(np.asarray(abs(vectors.sparse).sum(axis=1)).ravel() > 0)
    if vectors.dense is not None:
        parts.append(np.any(vectors.dense != 0, axis=1))
    return np.logical_or.reduce(parts)
