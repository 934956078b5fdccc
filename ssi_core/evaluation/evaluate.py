"""Evaluation of a fitted ranker under the one protocol.

Memory: the vectors of the candidates and of the queries that are needed, and scores in blocks of
at most 64 MiB.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from ssi_core.evaluation import slices
from ssi_core.evaluation.candidates import Candidates, Side, candidates, described, draw_tuples
from ssi_core.evaluation.measures import MEASURES, Ranks, clustered_error, standard_error
from ssi_core.evaluation.popularity import Popularity
from ssi_core.evaluation.ranking import embedded, rank_parts, rows_held
from ssi_core.evaluation.short import short_queries
from ssi_core.evaluation.slates import of_queries, slate_measures
from ssi_core.scoring.scorer import score_pairs
from ssi_core.scoring.vectors import Fitted, Vectors
from ssi_core.types import Float32, Float64, Progress, Report, Task


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
        that have a relevant document. Where the task has a pool they are ranked in parts, so that
        time grows with their number, and memory hardly (`Candidates.parts`).
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
    events = of_queries(getattr(task, side).shown, chosen.queries)
    shown = events.rows
    # Of queries in parts only the vectors of a part are held at a time, and one here.
    at_once = slice(1) if chosen.is_divided else slice(None)
    query_rows = np.unique(np.concatenate([chosen.queries[at_once], query, shown[:, 0]]))
    others = np.concatenate([relevant, irrelevant, shown[:, 1]])
    document_rows = np.union1d(chosen.documents[at_once], others)
    on_progress(0.1, "embedding documents")
    documents = embedded(fitted, task, "document", document_rows)
    on_progress(0.3, "embedding queries")
    vectors = embedded(fitted, task, "query", query_rows)

    on_progress(0.4, f"ranking {len(chosen.documents)} documents for {len(chosen.queries)} queries")
    popularity = Popularity(task, chosen)

    def embed(first: int, part: Candidates) -> tuple[Vectors, Vectors]:
        if part is not chosen:
            of_documents = embedded(fitted, task, "document", part.documents)
            return embedded(fitted, task, "query", part.queries), of_documents
        return (
            rows_held(vectors, query_rows, part.queries),
            rows_held(documents, document_rows, part.documents),
        )

    ranks = rank_parts(chosen, embed, popularity.inspecting, threads)
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
