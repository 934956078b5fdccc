"""Features of pairs from our own models: the first documents of one model, scored by several.

The first model ranks all candidates of a query; its first documents are the pairs, and what every
model says of each is a feature. A reranker then learns their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.evaluation.candidates import Candidates, Side, candidates
from ssi_core.evaluation.ranking import blocks, scores_of
from ssi_core.guests.reranking.pairs import LARGEST_GRADE, Fold, PairFeatures
from ssi_core.models.base import FittedModel, Model
from ssi_core.models.base import Side as ModelSide
from ssi_core.models.measuring import require_evaluation
from ssi_core.scoring.inner import best_documents
from ssi_core.scoring.scorer import scores_of_parts
from ssi_core.scoring.two_stage import features, starts
from ssi_core.scoring.vectors import Inner, Several, first_part
from ssi_core.types import (
    BadInput,
    Int32,
    Progress,
    Task,
    TextMatrix,
    Texts,
    View,
    requestable,
)
from ssi_core.views.names import COUNTS

UNLEARNT = frozenset({"tfidf", "bm25", "language_model"})
"""Models whose scores of training pairs are as good as of other pairs: they learn no pair."""
OF_DOCUMENTS = ("document_words", "query_words", "first_stage")
"""Features that no model gives: ln(1 + words of the document), the share of the query's words that
the document has, and 1 / rank of the first model."""


def first_stage_folds(
    task: Task,
    models: Sequence[Model],
    *,
    depth: int = 100,
    queries: int | None = None,
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
    models : sequence of Model
        The first one ranks.
    depth : int
        Documents of a query.
    queries : int or None
        Queries of a side at most; None: all.
    seed : int
        Seed of the trainings, of the drawn queries and of the halves.
    threads : int
        Cores for the scores.
    progress : Progress, optional
        Told the share of the folds that is done.

    Raises
    ------
    BadInput
        A model reads a view that the task lacks, or a side has too few queries.
    """
    _require(task, models)
    names = feature_names(models)
    divisions = task.folds or (task,)
    folds = []
    for number, division in enumerate(divisions, 1):
        fitted = {}
        for name, model in zip(names, models, strict=False):
            if progress is not None:
                progress((number - 1) / len(divisions), f"fold {number}: {name}")
            require_evaluation(model, division, queries)
            fitted[name] = model.fit(division, np.random.default_rng([seed]), threads=threads)
        how: dict[str, Any] = {"depth": depth, "queries": queries, "seed": seed, "threads": threads}
        test = features_of(division, "test", fitted, **how)
        train, valid = sides_to_learn(division, fitted, **how, tested=test)
        folds.append(Fold(f"Fold{number}", train, valid, test))
    return tuple(folds)


def sides_to_learn(
    task: Task,
    models: Mapping[str, FittedModel],
    *,
    depth: int,
    queries: int | None,
    seed: int = 0,
    threads: int = 1,
    tested: PairFeatures | None = None,
) -> tuple[PairFeatures, PairFeatures]:
    """Return the pairs that a reranker learns from, and those by which it chooses.

    Where all models are of `UNLEARNT`, these are the training queries and those of validation;
    else the two halves of the validation queries. No query is on both sides, and none is tested.

    Parameters
    ----------
    task : Task
        Task of the models, or a fold of it.
    models : mapping
        Name of a feature -> fitted model; the first one ranks.
    depth, queries, seed, threads : int
        See `first_stage_folds`.
    tested : PairFeatures, optional
        Pairs of the queries that are tested.

    Raises
    ------
    BadInput
        A side has no query left.
    """
    how: dict[str, Any] = {"depth": depth, "queries": queries, "seed": seed, "threads": threads}
    valid = features_of(task, "valid", models, **how) if len(task.valid) else None
    if valid is not None and tested is not None:
        valid = _without(valid, tested)
    if valid is not None and {one.model.name for one in models.values()} <= UNLEARNT:
        train = _without(features_of(task, "train", models, **how), valid)
        train = train if tested is None else _without(train, tested)
    elif valid is not None:
        order = np.random.default_rng([seed]).permutation(len(valid.queries))
        half = len(order) // 2
        train, valid = valid.take(np.sort(order[half:])), valid.take(np.sort(order[:half]))
    if valid is None or not (len(train) and len(valid)):
        beside = "" if tested is None else " beside those of the test"
        raise BadInput(
            f"task {task.path}: too few queries to learn an order from{beside}. Ask fewer queries, "
            "so that others are left to learn from, or make a task with more of them."
        )
    return train, valid


def features_of(
    task: Task,
    side: Side,
    models: Mapping[str, FittedModel],
    *,
    depth: int = 100,
    queries: int | None = None,
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
    query_parts = parts_of(models.values(), texts, "query", task.documents.views[COUNTS])
    document_parts = parts_of(models.values(), ranked, "document", task.queries.views[COUNTS])
    score = scores_of(first_part(query_parts), first_part(document_parts), chosen, threads)
    rows_of_blocks = []
    for first, last in blocks(len(chosen.queries), len(chosen.documents)):
        scores = np.where(chosen.mask(first, last), score(first, last), np.float32(-np.inf))
        part = first_part(query_parts).take(slice(first, last))
        rows_of_blocks.append(best_documents(part, first_part(document_parts), scores, depth)[0])
    best = np.concatenate(rows_of_blocks)
    held = best >= 0
    rows, columns = np.nonzero(held)[0], best[held]
    sizes = held.sum(axis=1)
    kept = np.flatnonzero(sizes)
    start = starts(sizes[kept])
    pairs = np.column_stack([rows, columns]).astype(np.int32)
    return PairFeatures(
        features(scores_of_parts(query_parts, document_parts, pairs, threads=threads), start),
        _grades(chosen, rows, columns),
        texts.ids[kept].rename("query"),
        start,
        ranked.ids[columns].rename("document"),
        (*models, *OF_DOCUMENTS),
    )


def feature_names(models: Sequence[Model]) -> tuple[str, ...]:
    """Return the names of the features of some models; a second of a name is ``NAME_2``."""
    seen: Counter[str] = Counter()
    names = []
    for model in models:
        seen[model.name] += 1
        number = seen[model.name]
        names.append(model.name if number == 1 else f"{model.name}_{number}")
    return (*names, *OF_DOCUMENTS)


def parts_of(models: Iterable[FittedModel], texts: Texts, side: ModelSide, other: View) -> Several:
    """Return texts as `Vectors` with a part for each model, and the parts of `OF_DOCUMENTS`.

    Parameters
    ----------
    models : iterable of FittedModel
        The first one ranks.
    texts : Texts
        With the view of counted words.
    side : "query" or "document"
        Which views of the models read the texts.
    other : View
        That view of the other side; words of another meaning are never shared.
    """
    embedded = [
        one.embed_queries(texts) if side == "query" else one.embed_documents(texts)
        for one in models
    ]
    counts: TextMatrix = texts.matrix(COUNTS)
    length = np.ones((len(texts), 1), np.float32)
    if side == "document":
        length = np.log1p(np.asarray(counts.sum(axis=1), np.float32).reshape(-1, 1))
    words = sparse.csr_array((np.sign(counts.data), counts.indices, counts.indptr), counts.shape)
    if side == "query" and texts.views[COUNTS].space != other.space:
        words = sparse.csr_array((len(texts), len(other.words)), dtype=np.float32)
    # The share of the query's words that a document has, and their number, are scaled alike.
    return Several(parts=(*embedded, Inner(None, length), Inner(words)))


def _require(task: Task, models: Sequence[Model]) -> None:
    for model in models:
        lacking = sorted(model.views() - set(task.documents.views))
        if lacking:
            every = ",".join(requestable({*task.documents.views, *lacking}))
            raise BadInput(
                f"task {task.path}: it has no view {', '.join(lacking)}, which {model.name} reads. "
                f"Make it with them: ssi data features --views {every}"
            )


def _without(features: PairFeatures, other: PairFeatures) -> PairFeatures:
    """Return the queries that another side has not."""
    known = set(other.queries)
    return features.take([n for n, query in enumerate(features.queries) if query not in known])


def _grades(chosen: Candidates, rows: NDArray[np.intp], columns: Int32) -> Int32:
    """Return the grade of each pair: 0 where it is not relevant, else a whole number from 1."""
    relevant, width = chosen.relevant, len(chosen.documents)
    owner = np.repeat(np.arange(len(relevant)), relevant.lengths)
    keys = owner * width + relevant.items
    wanted = rows * width + columns
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    whole = np.clip(np.rint(chosen.grade), 1, LARGEST_GRADE)
    grades = np.where(keys[at] == wanted, whole[at], 0)
    return grades.astype(np.int32)
