"""Tasks of a test collection: judged queries in five folds, and titles to learn from first.

Fold f is tested with models that were trained on three of the others and validated on the next one
(the rotation of LETOR), so that each query is tested once. Vocabulary and idf are those of the
documents. Judgements are few; a further task, ``titles``, has the title of each document as a query
whose one answer is that document; a document without a title is no answer there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files, store
from ssi_core.features.queries import load_queries, write_exclude, write_queries
from ssi_core.features.split import VALID, hash_titles, side_of_documents
from ssi_core.features.tfidf import COUNTS, Weighting
from ssi_core.features.views import TextView
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Int32, Pairs, Task, Texts

FOLDS = 5
TITLES = "titles"

_PAIRS, _GRADES, _FOLDS = "judged.npy", "grades.npy", "folds.npy"


def folds_of(ids: pl.Series, seed: int) -> NDArray[np.int8]:
    """Fold of each query, int8: the order of a keyed hash, dealt out in turn.

    >>> sorted(folds_of(pl.Series(["a", "b", "c", "d", "e", "f"]), seed=0).tolist())
    [0, 0, 1, 2, 3, 4]
    """
    order = np.argsort(hash_titles(ids, seed, b"fold", "ids"), kind="stable")
    folds = np.empty(len(ids), np.int8)
    folds[order] = np.arange(len(ids)) % FOLDS
    return folds


def write_judged(
    path: Path,
    queries: pl.DataFrame,
    judgements: pl.DataFrame,
    documents: pl.DataFrame,
    view: TextView,
    weightings: Sequence[Weighting],
    *,
    seed: int,
    where: Path,
) -> dict[str, Any]:
    """Write the queries of a collection, their judgements and folds, and its titles.

    Parameters
    ----------
    path : directory of the task
    queries : id and text; those without a judgement are left out and counted
    judgements : query, document, grade >= 1
    documents : id and title
    view : of the documents
    seed : of the folds
    where : corpus, for messages

    Returns
    -------
    counts for the manifest

    Raises
    ------
    BadInput
        A judgement is of no query or document, or fewer than five queries have one.
    """
    asked = queries.join(judgements, left_on="id", right_on="query", how="semi")
    numbered = judgements.join(asked.with_row_index("q"), left_on="query", right_on="id").join(
        documents.with_row_index("d"), left_on="document", right_on="id"
    )
    if len(numbered) != len(judgements):
        raise BadInput(
            f"{where}: {len(judgements) - len(numbered)} judgements have no query or document, or "
            "one that is there twice. Ingest the collection again."
        )
    if len(asked) < FOLDS:
        raise BadInput(
            f"{where}: {len(asked)} of its queries are judged, and {FOLDS} folds need as many."
        )
    numbered = numbered.sort("q", "d")
    rows = numbered.select("q", "d").to_numpy().astype(np.int32)
    (path / "pairs").mkdir()
    np.save(path / "pairs" / _PAIRS, rows)
    np.save(path / "pairs" / _GRADES, numbered["grade"].to_numpy().astype(np.int8))
    np.save(path / "pairs" / _FOLDS, folds_of(asked["id"], seed))
    write_exclude(path, rows[:0], len(asked), len(documents))
    # The corpus shows the number of a document that has no title.
    untitled = documents["title"] == documents["id"]
    titles = documents.select(pl.when(untitled).then(pl.lit("")).otherwise("title").alias("title"))
    tokens = known = 0
    for place, ids, texts in (
        (path, asked["id"], asked["text"]),
        (path / TITLES, documents["id"], titles["title"]),
    ):
        place.mkdir(exist_ok=True)
        counts = view.transform(texts.to_list())
        write_queries(place, ids, texts, [counts], view.idf, weightings)
        if place is path:
            tokens = sum(len(tokenize(text, view.language)) for text in texts)
            known = int(counts.sum())
    return {
        "queries": len(asked),
        "queries_without_judgement": len(queries) - len(asked),
        "judgements": len(rows),
        "query_tokens": tokens,
        "out_of_vocabulary_query_tokens": tokens - known,
        "documents_without_title": int(untitled.sum()),
    }


def open_judged(task: Task, path: Path, seed: int) -> Task:
    """Complete an opened task with its pairs: the first fold, all ``folds``, and ``titles``."""
    place = path / "pairs"
    rows, grades, fold = (store.load_array(place / n) for n in (_PAIRS, _GRADES, _FOLDS))
    also = {TITLES: _titles(task, path / TITLES, seed)}
    with files.reading(place):
        of_pairs = fold[rows[:, 0]]

    def pairs(mask: NDArray[np.bool_]) -> Pairs:
        return Pairs(rows[mask], np.ones(int(mask.sum()), np.float32), grades[mask])

    def sides(test: int) -> Task:
        valid = (test + 1) % FOLDS
        return replace(
            task,
            train=pairs(~np.isin(of_pairs, (test, valid))),
            valid=pairs(of_pairs == valid),
            test=pairs(of_pairs == test),
            also=also,
            key=f"{task.key} fold {test}",
        )

    folds = tuple(sides(test) for test in range(FOLDS))
    return replace(folds[0], key=task.key, folds=folds)


def _titles(task: Task, path: Path, seed: int) -> Task:
    """Title -> its document: 5 % for validation and, there being no other use, as a test."""
    queries: Texts = load_queries(path, task.documents)
    sides = side_of_documents(task.documents.ids, seed=seed)
    rows = np.arange(len(sides), dtype=np.int32)
    worded = np.diff(queries.matrix(COUNTS).indptr) > 0

    def own(mask: NDArray[np.bool_]) -> Pairs:
        chosen: Int32 = rows[mask & worded]
        return Pairs.of(np.column_stack([chosen, chosen]))

    held_out = own(sides == VALID)
    return replace(
        task,
        queries=queries,
        train=own(sides != VALID),
        valid=held_out,
        test=held_out,
        exclude=sparse.csr_array((len(rows), len(rows)), dtype=np.bool_),
        key=f"{task.key} {TITLES}",
    )
