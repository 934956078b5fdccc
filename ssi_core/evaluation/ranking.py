"""Ranks of the relevant documents of queries, from scores in blocks, and measures of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ssi_core.evaluation.candidates import BLOCK_BYTES, Candidates, Side, candidates
from ssi_core.evaluation.measures import MEASURES, Ranks, count, rank_loss
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Fitted, Inner, Several, Vectors, refuse_nan
from ssi_core.types import Float32, Int32, Int64, Task, TextMatrix, Texts


def rank(
    score: Callable[[int, int], Float32],
    chosen: Candidates,
    inspect: Callable[[int, Float32], None] | None = None,
) -> Ranks:
    """Rank the relevant documents of all queries, in blocks.

    Parameters
    ----------
    score : callable
        ``score(first, last)`` gives the scores of some of ``chosen.queries`` with
        ``chosen.documents``, which are overwritten.
    chosen : `Candidates`
        Queries, and the documents that each is ranked over.
    inspect : callable or None
        ``inspect(first, scores)`` is shown each block after its ranks are counted.
    """
    parts = []
    for first, last in blocks(len(chosen.queries), len(chosen.documents)):
        scores = score(first, last)
        parts.append(_ranked(scores, chosen, first, last))
        if inspect is not None:
            inspect(first, scores)
    return _joined(parts, chosen)


def rank_parts(
    chosen: Candidates,
    embed: Callable[[int, Candidates], tuple[Vectors, Vectors]],
    inspecting: Callable[[int, Candidates], Callable[[int, Float32], None]],
    threads: int,
) -> Ranks:
    """Rank the relevant documents of all queries, one part after the other.

    Parameters
    ----------
    chosen : `Candidates`
        What is ranked for whom; see `Candidates.parts`.
    embed : callable
        ``embed(first, part)`` gives the vectors of the queries and of the documents of a part.
    inspecting : callable
        ``inspecting(first, part)`` gives what `rank` shows the blocks of a part to.
    threads : int
        See `Scorer`.
    """
    ranks = []
    for first, part in chosen.parts():
        score = scores_of(*embed(first, part), part, threads)
        ranks.append(rank(score, part, inspecting(first, part)))
    return _joined(ranks, chosen)


def embedded(
    fitted: Fitted, task: Task, side: Literal["query", "document"], rows: Int32
) -> Vectors:
    """Return the vectors of some rows of a side of a task; `BadInput` if they are not finite."""
    if side == "query":
        return refuse_nan(fitted.embed_queries(rows_of(task.queries, rows)), "queries")
    return refuse_nan(fitted.embed_documents(rows_of(task.documents, rows)), "documents")


def rows_held(vectors: Vectors, held: Int64 | Int32, wanted: Int32) -> Vectors:
    """Return the rows ``wanted`` of vectors that hold the rows ``held``, both ascending."""
    return vectors if len(held) == len(wanted) else vectors.take(np.searchsorted(held, wanted))


def _ranked(scores: Float32, chosen: Candidates, first: int, last: int) -> Ranks:
    relevant = chosen.relevant.part(first, last)
    span = slice(chosen.relevant.start[first], chosen.relevant.start[last])
    excluded = chosen.excluded_of(first, last)
    return count(scores, chosen.outside, excluded, relevant, chosen.grade[span])


def _joined(parts: Sequence[Ranks], chosen: Candidates) -> Ranks:
    names = ("rank", "above", "tied", "grade", "irrelevant")
    joined = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
    return Ranks(chosen.relevant.start, *joined)


def blocks(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return the bounds of blocks of rows whose float32 scores fill at most `BLOCK_BYTES`."""
    size = max(1, BLOCK_BYTES // max(1, 4 * columns))
    return [(first, min(first + size, rows)) for first in range(0, rows, size)]


def scores_of(
    queries: Vectors, documents: Vectors, chosen: Candidates, threads: int
) -> Callable[[int, int], Float32]:
    """Return what scores the queries ``first:last`` of `Candidates` with their documents."""
    scorer = Scorer(documents, threads=threads)

    def score(first: int, last: int) -> Float32:
        mask = chosen.mask(first, last) if isinstance(queries, Several) else None
        return scorer.score(queries.take(slice(first, last)), mask)

    return score


def rows_of(texts: Texts, rows: Int32) -> Texts:
    """Return some rows of texts; all of them are the texts themselves."""
    return texts if len(rows) == len(texts) else texts.take(rows)


class _Held(NamedTuple):
    """Sparse parts of the call before, and what was made of them."""

    documents: TextMatrix
    scorer: Scorer
    queries: TextMatrix | None = None
    scores: Float32 = np.empty((0, 0), np.float32)


class Validator:
    """An evaluation that is called again and again: queries and candidates are fixed once.

    Where the sparse part is the same as in the call before (an identity term while only U and V
    learn), its scores are kept from there, at most `BLOCK_BYTES` of them; where that of the
    documents is (a diagonal learns, on the side of the queries), its postings.

    Parameters
    ----------
    task : `Task`
        Task to measure on.
    side : Side
        "valid"; or "train" for the training error that a search of the rate looks at: the relevant
        documents are the training pairs, nothing but ``task.exclude`` is excluded.
    queries, seed : int
        See `candidates`.
    threads : int
        See `Scorer`.

    Raises
    ------
    ValueError
        The side has no relevant pair.
    """

    def __init__(
        self,
        task: Task,
        side: Side = "valid",
        queries: int = 500,
        seed: int = 0,
        *,
        threads: int = 1,
    ) -> None:
        self._chosen = candidates(task, side, queries, seed)
        self._queries = rows_of(task.queries, self._chosen.queries)
        self._documents = rows_of(task.documents, self._chosen.documents)
        self._threads = threads
        self._held: _Held | None = None

    def __len__(self) -> int:
        """Return how many queries there are."""
        return len(self._chosen.queries)

    def ranks(self, fitted: Fitted) -> Ranks:
        """Return the counts that all measures follow from."""
        queries, documents = self._vectors(fitted)
        one_block = len(blocks(len(queries), len(documents))) == 1
        plain = isinstance(queries, Inner) and queries.projection is None and one_block
        if not plain or queries.sparse is None or documents.sparse is None:
            return rank(scores_of(queries, documents, self._chosen, self._threads), self._chosen)
        scores = self._sparse_scores(queries.sparse, documents.sparse)
        if queries.dense is None:
            return rank(lambda first, last: scores[first:last].copy(), self._chosen)
        dense = scores_of(
            Inner(None, queries.dense),
            Inner(None, documents.dense),
            self._chosen,
            self._threads,
        )
        return rank(lambda first, last: dense(first, last) + scores[first:last], self._chosen)

    def _sparse_scores(self, queries: TextMatrix, documents: TextMatrix) -> Float32:
        held = self._held
        # Copies: a model may write into its own matrices while it learns.
        if held is None or not _equal(held.documents, documents):
            copy = documents.copy()
            held = _Held(copy, Scorer(Inner(copy, None), threads=self._threads))
        if held.queries is None or not _equal(held.queries, queries):
            scores = held.scorer.score(Inner(queries, None))
            held = held._replace(queries=queries.copy(), scores=scores)
        self._held = held
        return held.scores

    def rank_loss(self, fitted: Fitted) -> float:
        """Return the mean rank loss; one half for a model whose scores are all NaN."""
        return float(rank_loss(self.ranks(fitted)).mean())

    def error(self, fitted: Fitted, name: str) -> float:
        """Return the mean rank loss, or what the mean of another measure misses to 1."""
        mean = float(MEASURES[name](self.ranks(fitted)).mean())
        return mean if name == "rank_loss" else 1 - mean

    def scores(self, fitted: Fitted) -> Float32:
        """Return all scores, float32 (queries, candidates), for models that are sums of others."""
        queries, documents = self._vectors(fitted)
        return Scorer(documents, threads=self._threads).score(queries)

    def _vectors(self, fitted: Fitted) -> tuple[Vectors, Vectors]:
        return fitted.embed_queries(self._queries), fitted.embed_documents(self._documents)

    def ranks_of_sums(
        self, first: Fitted, second: Fitted, weights: Sequence[tuple[float, float]]
    ) -> list[Ranks]:
        """Return the counts of each weighted sum of two models, of which each is scored once."""
        chosen = self._chosen
        one, other = (
            scores_of(*self._vectors(fitted), chosen, self._threads) for fitted in (first, second)
        )
        sums: list[list[Ranks]] = [[] for _ in weights]
        for begin, end in blocks(len(chosen.queries), len(chosen.documents)):
            left, right = one(begin, end), other(begin, end)
            for parts, (a, b) in zip(sums, weights, strict=True):
                scores = np.float32(a) * left + np.float32(b) * right
                parts.append(_ranked(scores, chosen, begin, end))
        return [_joined(parts, chosen) for parts in sums]

    def rank_loss_of(self, scores: Float32) -> float:
        """Return the mean rank loss of what `scores` gave, or of a sum of such."""
        ranks = rank(lambda first, last: scores[first:last].copy(), self._chosen)
        return float(rank_loss(ranks).mean())

    def measures(self, fitted: Fitted) -> dict[str, float]:
        """Return the mean of each measure of `MEASURES`."""
        ranks = self.ranks(fitted)
        return {name: float(measure(ranks).mean()) for name, measure in MEASURES.items()}


def _equal(one: TextMatrix, other: TextMatrix) -> bool:
    parts = "indptr", "indices", "data"
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)
