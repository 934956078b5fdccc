"""Features of pairs from our own models: the first documents of one model, scored by several.

The first model ranks all candidates of a query; its first documents are the pairs, and what every
model says of each is a feature. A reranker then learns their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.evaluation.candidates import Candidates, Side, candidates
from ssi_core.evaluation.ranking import blocks, scores_of
from ssi_core.kernels.topk import top_k
from ssi_core.models import MODELS
from ssi_core.models.base import FittedModel, parse
from ssi_core.models.measuring import require_evaluation
from ssi_core.reranking.pairs import LARGEST_GRADE, Fold, PairFeatures
from ssi_core.strict import instead
from ssi_core.types import BadInput, Float32, Float64, Int32, Progress, Task, TextMatrix
from ssi_core.views.tfidf import COUNTS

UNLEARNT = frozenset({"tfidf", "bm25", "language_model"})
"""Models whose scores of training pairs are as good as of other pairs: they learn no pair."""
OF_DOCUMENTS = ("first_stage", "document_words", "query_words")
"""Features that no model gives: 1 / rank of the first model, ln(1 + words of the document), and the
share of the query's words that the document has."""


def first_stage_folds(
    task: Task,
    models: Sequence[str],
    *,
    depth: int = 100,
    queries: int = 1000,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Fold, ...]:
    """Train models on a task, and return the features of their first documents.

    A fold of the task is a fold here; a task without folds is one. The test queries are those that
    `evaluate` measures. Where all models are of `UNLEARNT`, a reranker learns from the training
    queries and chooses by those of validation. Other models know the answers of their training
    queries, so that it learns from one half of the validation queries and chooses by the other. A
    query that is tested is never learnt from, as the sides of a task of links may share queries.
    Values are scaled to 0..1 over the documents of a query.

    Parameters
    ----------
    task : Task
        Task whose views the models read.
    models : sequence of str
        Names in `MODELS`, with their defaults; the first one ranks.
    depth : int
        Documents of a query.
    queries : int
        Queries of a side at most.
    seed : int
        Seed of the trainings, of the drawn queries and of the halves.
    threads : int
        Cores for the scores.
    progress : Progress, optional
        Told the share of the folds that is done.

    Raises
    ------
    BadInput
        A model is unknown or named twice, reads a view that the task lacks, or a side has too few
        queries.
    """
    _require(task, models)
    divisions = task.folds or (task,)
    folds = []
    for number, division in enumerate(divisions, 1):
        fitted = {}
        for name in models:
            if progress is not None:
                progress((number - 1) / len(divisions), f"fold {number}: {name}")
            model = parse(MODELS[name], {})
            require_evaluation(model, division, queries)
            fitted[name] = model.fit(division, np.random.default_rng([seed]), threads=threads)
        how = {"depth": depth, "queries": queries, "seed": seed, "threads": threads}
        test = features_of(division, "test", fitted, **how)
        valid = _without(features_of(division, "valid", fitted, **how), test)
        if set(models) <= UNLEARNT:
            train = _without(features_of(division, "train", fitted, **how), test)
            train = _without(train, valid)
        else:
            order = np.random.default_rng([seed]).permutation(len(valid.queries))
            half = len(order) // 2
            train, valid = valid.take(np.sort(order[half:])), valid.take(np.sort(order[:half]))
        if not (len(train) and len(valid)):
            raise BadInput(
                f"task {task.path}: fold {number} has too few queries beside those of the test. "
                "Ask fewer queries, so that others are left to learn from."
            )
        folds.append(Fold(f"Fold{number}", train, valid, test))
    return tuple(folds)


def features_of(
    task: Task,
    side: Side,
    models: Mapping[str, FittedModel],
    *,
    depth: int = 100,
    queries: int = 1000,
    seed: int = 0,
    threads: int = 1,
) -> PairFeatures:
    """Return the features of the first documents of the queries of a side.

    Parameters
    ----------
    task : Task
        Task of the models.
    side : Side
        "train", "valid" or "test".
    models : mapping
        Name -> fitted model; the first one ranks.
    depth, queries, seed, threads : int
        See `first_stage_folds`.

    Returns
    -------
    PairFeatures
        The score of each model under its name, and `OF_DOCUMENTS`; the grade of a pair is its own,
        at least 1 where it is relevant.
    """
    chosen = candidates(task, side, queries, seed)
    texts, ranked = task.queries.take(chosen.queries), task.documents.take(chosen.documents)
    scorers = [
        scores_of(one.embed_queries(texts), one.embed_documents(ranked), chosen, threads)
        for one in models.values()
    ]
    parts = []
    for first, last in blocks(len(chosen.queries), len(chosen.documents)):
        mask = chosen.mask(first, last)
        scores = scorers[0](first, last)
        best = _best(scores, mask, depth)
        taken = [_taken(scores, best)]
        taken += [_taken(score(first, last), best) for score in scorers[1:]]
        parts.append((best, np.stack(taken, axis=2)))
    best = np.concatenate([part[0] for part in parts])
    held = best >= 0
    place, rank = np.nonzero(held)
    columns = best[held]
    sizes = held.sum(axis=1)
    kept = np.flatnonzero(sizes)
    start = np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64)
    values = [np.concatenate([part[1] for part in parts])[held].astype(np.float64)]
    values.append(1 / (1 + rank.astype(np.float64))[:, None])
    values.append(_words(task, chosen, place, columns))
    return PairFeatures(
        _scaled(np.concatenate(values, axis=1), start),
        _grades(chosen, place, columns),
        texts.ids[kept].rename("query"),
        start,
        ranked.ids[columns].rename("document"),
        (*models, *OF_DOCUMENTS),
    )


def _require(task: Task, models: Sequence[str]) -> None:
    for name in models:
        if name not in MODELS:
            raise BadInput(f"no model {instead(name, MODELS)}")
    if not models or len(set(models)) < len(models):
        raise BadInput(f"models: {', '.join(models) or 'none'}; expected some names, each once.")
    if used := set(models) & set(OF_DOCUMENTS):
        raise BadInput(f"models: {used.pop()!r} is the name of a feature.")
    for name in models:
        lacking = sorted(parse(MODELS[name], {}).views() - set(task.documents.views))
        if lacking:
            every = ",".join(sorted({*task.documents.views, *lacking}))
            raise BadInput(
                f"task {task.path}: it has no view {', '.join(lacking)}, which {name} reads. Make "
                f"it with them: ssi features --views {every}"
            )


def _without(features: PairFeatures, other: PairFeatures) -> PairFeatures:
    """Return the queries that another side has not."""
    known = set(other.queries)
    return features.take([n for n, query in enumerate(features.queries) if query not in known])


def _best(scores: Float32, mask: NDArray[np.bool_], depth: int) -> Int32:
    """Return the columns of the best candidates of each row, -1 where there are no more."""
    able = np.where(mask, np.nan_to_num(scores, nan=-np.inf), -np.inf)
    best = np.empty((len(scores), min(depth, scores.shape[1])), np.int32)
    top_k(able.astype(np.float32), best, np.empty(best.shape, np.float32))
    return best


def _taken(scores: Float32, best: Int32) -> Float32:
    """Return the scores of the best columns; those of missing ones mean nothing."""
    largest = float(np.finfo(np.float32).max)
    taken = np.take_along_axis(scores, np.maximum(best, 0), axis=1)
    finite: Float32 = np.nan_to_num(taken, nan=-largest, posinf=largest, neginf=-largest)
    return finite


def _scaled(values: Float64, start: NDArray[np.int64]) -> Float64:
    """Scale each feature to 0..1 over the documents of a query; one value alone becomes 0."""
    sizes = np.diff(start)
    if not len(sizes):
        return values
    low = np.repeat(np.minimum.reduceat(values, start[:-1]), sizes, axis=0)
    high = np.repeat(np.maximum.reduceat(values, start[:-1]), sizes, axis=0)
    scaled = np.zeros_like(values)
    np.divide(values - low, high - low, out=scaled, where=high > low)
    return scaled


def _words(task: Task, chosen: Candidates, place: NDArray[np.intp], columns: Int32) -> Float64:
    """Return ln(1 + words) of the documents, and the share of the query's words that they have."""
    counts: TextMatrix = task.documents.matrix(COUNTS)
    length = np.log1p(np.asarray(counts.sum(axis=1), dtype=np.float64).ravel())
    rows = chosen.documents[columns]
    share = np.zeros(len(rows))
    if task.queries.views[COUNTS].space == task.documents.views[COUNTS].space:
        queries: Any = task.queries.matrix(COUNTS)[chosen.queries].sign()
        present: Any = counts.sign()
        total = np.maximum(np.asarray(queries.sum(axis=1)).ravel(), 1)
        for query in np.unique(place):
            here = place == query
            both = (present[rows[here]] @ queries[[query]].T).toarray().ravel()
            share[here] = both / total[query]
    return np.column_stack([length[rows], share])


def _grades(chosen: Candidates, place: NDArray[np.intp], columns: Int32) -> Int32:
    """Return the grade of each pair: 0 where it is not relevant, else a whole number from 1."""
    relevant, width = chosen.relevant, len(chosen.documents)
    owner = np.repeat(np.arange(len(relevant)), relevant.lengths)
    keys = owner * width + relevant.items
    wanted = place * width + columns
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    whole = np.clip(np.rint(chosen.grade), 1, LARGEST_GRADE)
    grades = np.where(keys[at] == wanted, whole[at], 0)
    return grades.astype(np.int32)
