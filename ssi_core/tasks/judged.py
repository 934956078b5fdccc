"""Tasks of a test collection: judged queries in five folds, and titles to learn from first.

A model that was trained on other data is measured on all judged queries (`open_collection`).

Fold f is tested with models that were trained on three of the others and validated on the next one
(the rotation of LETOR), so that each query is tested once. Vocabulary and idf are those of the
documents. Judgements are few; a further task, ``titles``, has the title of each document as a query
whose one answer is that document; a document without a title is no answer there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files
from ssi_core.arrays import load_array
from ssi_core.collection import INGEST, JUDGEMENT, Collection, relation_at
from ssi_core.remedies import typed
from ssi_core.scoring.vectors import Fitted
from ssi_core.tasks.layout import PAIRS
from ssi_core.tasks.pairs import write_side
from ssi_core.tasks.queries import load_queries, write_exclude, write_queries
from ssi_core.tasks.split import SPLITS, TEST, VALID, hash_titles, side_of_documents
from ssi_core.tasks.task_builder import TaskBuilder
from ssi_core.tasks.unseen import Raw, both_sides
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Float32, Int32, Pairs, Task, Texts
from ssi_core.views.names import COUNTS
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting

FOLDS = 5
GIVEN = {"test": 0, "valid": 1, "train": 2}
"""Folds of the sides that a publisher has fixed; there is no rotation."""
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


def given_folds(
    ids: pl.Series, judgements: pl.DataFrame, seed: int, where: Path
) -> NDArray[np.int8]:
    """Fold of each query by the side that its publisher gave it, int8: `GIVEN` names them.

    Where no query is for validation, every tenth of the training queries is, by a keyed hash.

    Raises
    ------
    BadInput
        No side is given, a query is on two, or no query is for training or for the test.
    """
    if "side" not in judgements.columns:
        raise BadInput(
            f"{where}: its judgements have no given sides. Divide the queries into folds: "
            f"{typed('split', 'queries')}."
        )
    sides = judgements.group_by("source").agg(pl.col("side").unique())
    if len(twice := sides.filter(pl.col("side").list.len() > 1)):
        raise BadInput(
            f"{where}: the query {twice['source'][0]!r} is on two given sides. Leave it in one "
            f"file of judgements, or divide the queries into folds: {typed('split', 'queries')}."
        )
    by_query = sides.select("source", pl.col("side").list.first())
    named = pl.DataFrame({"source": ids}).join(
        by_query, on="source", maintain_order="left", how="left"
    )
    folds = named["side"].replace_strict(GIVEN, return_dtype=pl.Int8).to_numpy().copy()
    train = np.flatnonzero(folds == GIVEN["train"])
    if not (folds == GIVEN["valid"]).any():
        order = np.argsort(hash_titles(ids, seed, b"fold", "ids")[train], kind="stable")
        folds[train[order[: max(1, len(train) // 10)]]] = GIVEN["valid"]
    missing = [side for side, fold in GIVEN.items() if not (folds == fold).any()]
    if missing:
        raise BadInput(
            f"{where}: of its {len(ids)} judged queries none is given for {', '.join(missing)}. "
            f"Divide them into folds ({typed('split', 'queries')}), or measure a model that learnt "
            "elsewhere ('ssi lab evaluate MODEL --on')."
        )
    return folds


def write_judged(builder: TaskBuilder, view: TextView) -> dict[str, Any]:
    """Write the queries of a collection, their judgements and folds, and its titles.

    Queries without a relevant document are left out and counted.

    Parameters
    ----------
    view : TextView
        Of the documents, in whose words queries are read.

    Returns
    -------
    counts for the manifest

    Raises
    ------
    BadInput
        A judgement is of no query or document, or fewer than five queries have one.
    """
    spec, path, where = builder.spec, builder.path, builder.collection.path
    documents = builder.documents
    judgements, relevant = _with_relevant(builder.collection)
    queries = files.read_strings(builder.collection.parts("queries"), "id", "text", remedy=INGEST)
    judged_queries = queries.join(judgements, left_on="id", right_on="source", how="semi")
    numbered = _numbered(judgements, judged_queries, documents, where)
    given = spec.split == "given"
    if not given and len(judged_queries) < FOLDS:
        raise BadInput(
            f"{where}: {len(judged_queries)} of its queries have a relevant document, and {FOLDS} "
            "folds need as many. Judge more queries."
        )
    rows = numbered.select("q", "d").to_numpy().astype(np.int32)
    (path / PAIRS).mkdir()
    np.save(path / PAIRS / _PAIRS, rows)
    np.save(path / PAIRS / _GRADES, numbered["grade"].to_numpy())
    seed = spec.split_seed
    folds = given_folds(judged_queries["id"], relevant, seed, where) if given else None
    np.save(path / PAIRS / _FOLDS, folds_of(judged_queries["id"], seed) if folds is None else folds)
    write_exclude(path, rows[:0], len(judged_queries), len(documents))
    builder.write_pools()
    # A collection shows the number of a document that has no title.
    untitled = documents["title"] == documents["id"]
    titles = documents.select(pl.when(untitled).then(pl.lit("")).otherwise("title").alias("title"))
    tokens = known = 0
    for directory, ids, texts in (
        (path, judged_queries["id"], judged_queries["text"]),
        (path / TITLES, documents["id"], titles["title"]),
    ):
        directory.mkdir(exist_ok=True)
        counts = view.transform(texts.to_list())
        weightings = [Weighting(COUNTS), *spec.weightings]
        write_queries(directory, ids, texts, [counts], view.statistics, weightings)
        if directory is path:
            tokens = sum(len(tokenize(text, view.language)) for text in texts)
            known = int(counts.sum())
    return {
        "queries": len(judged_queries),
        "queries_without_judgement": len(queries) - len(judged_queries),
        "judgements": len(relevant),
        "query_tokens": tokens,
        "out_of_vocabulary_query_tokens": tokens - known,
        "documents_without_title": int(untitled.sum()),
    }


def read_judgements(collection: Collection) -> pl.DataFrame:
    """Read source, target and grade of the judgements, and the given side where there is one.

    Grades are levels from 0 to 4, as the manifest of the collection declares them.
    """
    gains = collection.artefact.counts.get("gains", {})
    level = pl.col("grade").replace([float(grade) for grade in gains], list(gains.values()))
    return collection.frame(relation_at(JUDGEMENT)).with_columns(level)


def open_collection(collection: Collection, raw: Raw, fitted: Fitted) -> Task:
    """Open a judged collection as a task with a test side only, in the views of a model.

    Every query with a relevant document is a test query, and ranked over all documents. What was
    judged and is not relevant is a candidate like any other; its grade is 0.
    """
    ends = [
        side.select("id").with_row_index(name)
        for name, side in (("q", raw.queries), ("d", raw.documents))
    ]
    numbered = (
        read_judgements(collection)
        .join(ends[0], left_on="source", right_on="id")
        .join(ends[1], left_on="target", right_on="id")
        .sort("q", "d")
    )
    rows = numbered.select("q", "d").to_numpy().astype(np.int32)
    grades = numbered["grade"].to_numpy()
    if not (grades > 0).any():
        raise BadInput(
            f"{collection.path}: no judgement says that a document is relevant. {INGEST}"
        )
    queries, documents = both_sides(raw, fitted)
    return Task(
        queries=queries,
        documents=documents,
        train=Pairs.of(()),
        valid=Pairs.of(()),
        test=_pairs(rows, grades),
        exclude=sparse.csr_array((len(queries), len(documents)), dtype=np.bool_),
        key=collection.key,
        path=collection.path,
    )


def _pairs(rows: Int32, grades: Float32) -> Pairs:
    """Return judged pairs as one side, those of grade 0 apart."""
    relevant = grades > 0
    ones = np.ones(len(rows), np.float32)
    return replace(Pairs(rows, ones, grades).take(relevant), not_relevant=rows[~relevant])


def write_test_lists(builder: TaskBuilder) -> dict[str, int]:
    """Write the judgements of a click log as its test; return how many pairs are relevant.

    Queries without a relevant document are left out and counted.

    Raises
    ------
    BadInput
        The collection has no judgements, or none that says that a document is relevant.
    """
    where = builder.collection.path
    judgements, relevant = _with_relevant(builder.collection)
    if relevant.is_empty():
        raise BadInput(f"{where}: no judgement says that a document is relevant. {INGEST}")
    numbered = _numbered(judgements, builder.queries, builder.documents, where)
    rows = numbered.select("q", "d").to_numpy().astype(np.int32)
    pairs = _pairs(rows, numbered["grade"].to_numpy())
    write_side(builder.path, SPLITS[TEST], pairs)
    builder.counts["judged"] = {
        "queries": relevant["source"].n_unique(),
        "judgements": len(judgements),
        "relevant": len(relevant),
    }
    return {SPLITS[TEST]: len(pairs)}


def _with_relevant(collection: Collection) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the judgements of queries with a relevant document, and those of such documents."""
    judgements = read_judgements(collection)
    relevant = judgements.filter(pl.col("grade") > 0)
    return judgements.join(relevant, on="source", how="semi"), relevant


def _numbered(
    judgements: pl.DataFrame, queries: pl.DataFrame, documents: pl.DataFrame, where: Path
) -> pl.DataFrame:
    """Add the rows ``q`` and ``d`` of both ends, and sort by them."""
    numbered = judgements.join(
        queries.select("id").with_row_index("q"), left_on="source", right_on="id"
    ).join(documents.select("id").with_row_index("d"), left_on="target", right_on="id")
    if len(numbered) != len(judgements):
        raise BadInput(
            f"{where}: {len(judgements) - len(numbered)} judgements have no query or document, or "
            "one that is there twice. Ingest the collection again."
        )
    return numbered.sort("q", "d")


def is_judged(path: Path) -> bool:
    """Tell whether a task has judged queries."""
    return (path / PAIRS / _FOLDS).exists()


def open_judged(
    task: Task, path: Path, seed: int, *, given: bool = False, listed: bool = False
) -> Task:
    """Complete an opened task with its pairs: the first fold, all ``folds``, and ``titles``.

    With ``given`` sides there are no folds. ``listed``: see `types.Pairs`.
    """
    directory = path / PAIRS
    rows, grades, fold = (load_array(directory / n) for n in (_PAIRS, _GRADES, _FOLDS))
    auxiliary = {TITLES: _titles(task, path / TITLES, seed)}
    with files.reading(directory):
        of_pairs = fold[rows[:, 0]]

    def pairs(mask: NDArray[np.bool_]) -> Pairs:
        return replace(_pairs(rows[mask], grades[mask]), listed=listed)

    def sides(test: int) -> Task:
        valid = (test + 1) % FOLDS
        return replace(
            task,
            train=pairs(~np.isin(of_pairs, (test, valid))),
            valid=pairs(of_pairs == valid),
            test=pairs(of_pairs == test),
            auxiliary=auxiliary,
            key=f"{task.key} fold {test}",
        )

    if given:
        return replace(sides(GIVEN["test"]), key=task.key)
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
