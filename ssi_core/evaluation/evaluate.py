"""Evaluation of a fitted ranker under the one protocol, whole or light.

Memory: the vectors of the candidates and of the queries that are needed, and scores in blocks of
at most 64 MiB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from ssi_core.evaluation import slices
from ssi_core.evaluation.candidates import Candidates, Side, candidates, described, draw_tuples
from ssi_core.evaluation.measures import MEASURES, Ranks, clustered_error, rank_loss, standard_error
from ssi_core.evaluation.popularity import Popularity
from ssi_core.evaluation.ranking import blocks, rank, rank_sums, scores_of
from ssi_core.evaluation.short import short_queries
from ssi_core.evaluation.slates import of_queries, slate_measures
from ssi_core.scoring.ranker import Fitted
from ssi_core.scoring.scorer import Scorer, score_pairs
from ssi_core.scoring.vectors import Inner, Vectors, refuse_nan
from ssi_core.types import Float32, Float64, Int32, Int64, Progress, Report, Task, TextMatrix, Texts


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
        self._queries = _texts(task.queries, self._chosen.queries)
        self._documents = _texts(task.documents, self._chosen.documents)
        self._threads = threads
        self._held: _Held | None = None

    def __len__(self) -> int:
        """Return how many queries there are."""
        return len(self._chosen.queries)

    def ranks(self, fitted: Fitted) -> Ranks:
        """Return the counts that all measures follow from."""
        queries = fitted.embed_queries(self._queries)
        documents = fitted.embed_documents(self._documents)
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
        scorer = Scorer(fitted.embed_documents(self._documents), threads=self._threads)
        return scorer.score(fitted.embed_queries(self._queries))

    def ranks_of_sums(
        self, first: Fitted, second: Fitted, weights: Sequence[tuple[float, float]]
    ) -> list[Ranks]:
        """Return the counts of each weighted sum of two models, of which each is scored once."""
        one, other = (
            scores_of(
                fitted.embed_queries(self._queries),
                fitted.embed_documents(self._documents),
                self._chosen,
                self._threads,
            )
            for fitted in (first, second)
        )
        return rank_sums(one, other, weights, self._chosen)

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


def evaluate(
    fitted: Fitted,
    task: Task,
    *,
    side: Side = "test",
    queries: int | None = None,
    tuples: int = 100_000,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Measure a fitted ranker on one side of a task (models' protocol, after Bai et al. 2010).

    ``rank_loss`` is exact on the drawn queries, ``rank_loss_tuples`` the paper's estimate from
    random (query, relevant, irrelevant) over all queries of the side; the other measures are those
    of `MEASURES` on the drawn queries, and their `hubness`, which has no error. Where queries are
    documents, also those of `popularity`; where the task has slates of the side, also
    `slates.SLATE_MEASURES`.

    Parameters
    ----------
    fitted : Fitted
        A trained ranker.
    task : `Task`
        Task to measure on.
    side : "test" or "valid"
        Side of the split to measure on.
    queries : int or None
        How many to measure at most, drawn once by ``seed``, the same for every model; None: all
        that have a relevant document. Scores are in blocks, so that more queries take more time
        and, beside their vectors, no more memory.
    tuples : int
        Number of tuples for ``rank_loss_tuples``; 0: leave it out.
    seed : int
        Random seed of queries and tuples.
    threads : int
        See `Scorer`.
    progress : callable or None
        Told when a stage is done.

    Returns
    -------
    Report
        ``per_query`` has the columns query, id, relevant, query_words (words of the query that are
        in the vocabulary) and one for each measure that a query has. Errors are sd / sqrt(queries),
        that of the tuples is clustered by query. ``bounds["p_at_10"]`` is the mean of
        min(10, relevant) / 10. ``slices`` are those of `slices.masks`, and `short.short_queries`.

    Raises
    ------
    BadInput
        The vectors of the model are not all finite.
    """

    def on_progress(fraction: float, message: str) -> None:
        if progress is not None:
            progress(fraction, message)

    chosen = candidates(task, side, queries, seed)
    query, relevant, irrelevant = draw_tuples(task, side, tuples, seed)
    query_rows = np.union1d(chosen.queries, query)
    events = of_queries(getattr(task, side).shown, chosen.queries)
    shown = events.rows
    others = np.concatenate([relevant, irrelevant, shown[:, 1]])
    document_rows = np.union1d(chosen.documents, others)
    on_progress(0.1, "embedding documents")
    documents = fitted.embed_documents(_texts(task.documents, document_rows))
    refuse_nan(documents, "documents")
    on_progress(0.3, "embedding queries")
    vectors = refuse_nan(fitted.embed_queries(_texts(task.queries, query_rows)), "queries")

    on_progress(0.4, f"ranking {len(chosen.documents)} documents for {len(chosen.queries)} queries")
    score = scores_of(
        _rows(vectors, query_rows, chosen.queries),
        _rows(documents, document_rows, chosen.documents),
        chosen,
        threads,
    )
    popularity = Popularity(task, chosen)
    ranks = rank(score, chosen, popularity.inspect)
    values = {name: measure(ranks) for name, measure in MEASURES.items()} | popularity.per_query()
    if len(events):
        rows = np.searchsorted(query_rows, shown[:, 0]), np.searchsorted(document_rows, shown[:, 1])
        scores = score_pairs(
            vectors, documents, np.column_stack(rows).astype(np.int32), threads=threads
        )
        values |= slate_measures(events, scores, chosen.queries)
    means = {name: float(v.mean()) for name, v in values.items()}
    errors = {name: standard_error(v) for name, v in values.items()}
    for known, further in zip((means, errors), popularity.of_all(ranks), strict=True):
        known.update(further)

    if len(query):
        on_progress(0.8, f"scoring {len(query)} tuples")
        left = np.repeat(np.searchsorted(query_rows, query), 2)
        right = np.searchsorted(document_rows, np.column_stack([relevant, irrelevant]).ravel())
        ends = np.column_stack([left, right]).astype(np.int32)
        scores = score_pairs(vectors, documents, ends, threads=threads)
        losses = _tuple_losses(scores[::2], scores[1::2])
        means["rank_loss_tuples"] = float(losses.mean())
        errors["rank_loss_tuples"] = clustered_error(losses, query)
    on_progress(1.0, "evaluated")
    bounds = {"p_at_10": float(np.minimum(ranks.relevant, 10).mean() / 10)}
    per_query = _per_query(task, chosen, ranks, values)
    parts = _slices(task, chosen, ranks, per_query)
    short = short_queries(fitted, task, chosen, side, seed=seed, threads=threads)
    sliced = pl.concat([parts, short])
    return Report(per_query, means, errors, bounds, sliced, described(task, side))


def _slices(task: Task, chosen: Candidates, ranks: Ranks, per_query: pl.DataFrame) -> pl.DataFrame:
    owner = ranks.owner
    document = chosen.documents[chosen.relevant.items]
    words = per_query["query_words"].to_numpy()[owner]
    masks = slices.masks(task, chosen.queries[owner], document, words)
    return slices.measured(ranks, masks, per_query["id"])


def _tuple_losses(better: Float32, worse: Float32) -> Float64:
    """Return 1 for a wrong order and one half for a tie; NaN ranks last."""
    lowest = float(np.finfo(np.float32).min)
    high, low = (
        np.nan_to_num(s, nan=lowest, neginf=lowest, posinf=np.inf) for s in (better, worse)
    )
    losses: Float64 = (low > high) + 0.5 * (low == high)
    return losses


def _per_query(
    task: Task, chosen: Candidates, ranks: Ranks, values: Mapping[str, Float64]
) -> pl.DataFrame:
    names = task.queries.matrices
    words = names["counts"] if "counts" in names else next(iter(names.values()))
    return pl.DataFrame(
        {
            "query": chosen.queries,
            "id": task.queries.ids[chosen.queries],
            "relevant": ranks.relevant,
            "query_words": np.diff(words.indptr)[chosen.queries].astype(np.int64),
            **values,
        }
    )


def _texts(texts: Texts, rows: Int32) -> Texts:
    return texts if len(rows) == len(texts) else texts.take(rows)


def _rows(vectors: Vectors, held: Int64 | Int32, wanted: Int32) -> Vectors:
    """Return the rows ``wanted`` of vectors that hold the rows ``held``, both ascending."""
    return vectors if len(held) == len(wanted) else vectors.take(np.searchsorted(held, wanted))
