"""Tasks across languages: queries in one, documents in the other, translations between them.

Relevant to a query are the documents that its translation links to (the translation itself is never
sampled and never a candidate), or its translation. Articles are on a side of the split, by the
title of the document: a query is on that of its translations, the last of train, valid, test if
they differ, and nothing of a query on the test side is seen in training. Every document can be a
candidate. Vocabulary and idf of each side are those of the articles that are not on the test side.

A task has three further ones, with the same sides: ``mates``, query -> translation (the papers call
these mates); ``monolingual``, where the documents are queries and what they link to is relevant;
and ``monolingual_queries``, where what a query links to in its own language is relevant, and the
documents are the queries on the training side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import collection, files
from ssi_core.arrays import load_array
from ssi_core.remedies import typed
from ssi_core.tasks.frozen import excluded_articles
from ssi_core.tasks.kinds import LINK_OF_TRANSLATION
from ssi_core.tasks.layout import PAIRS
from ssi_core.tasks.links import links_of
from ssi_core.tasks.pairs import follow, keys, load_pairs, write_pairs
from ssi_core.tasks.queries import rewritten_path, write_exclude, write_weighted
from ssi_core.tasks.reading import texts_of
from ssi_core.tasks.split import NO_SIDE, SPLITS, TEST, TRAIN, VALID, Splits, side_of_documents
from ssi_core.tasks.task_builder import Mask, Reading, TaskBuilder
from ssi_core.types import BadInput, Int32, Task
from ssi_core.views.lexicon import batches
from ssi_core.views.names import COUNTS
from ssi_core.views.rewriting import Removal, Rewriter, Rewriting, RewrittenView, Translation
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting

MATES, MONOLINGUAL, MONOLINGUAL_QUERIES = "mates", "monolingual", "monolingual_queries"
_ROWS = "documents.npy"


def write_translations(builder: TaskBuilder) -> Reading:
    """Write the pairs of a task across languages, its further tasks and its candidates."""
    mates, kept = _numbered(builder)
    sides = side_of_documents(builder.documents["title"], seed=builder.spec.split_seed)
    of_queries = np.full(int(kept.sum()), TRAIN, np.int8)
    np.maximum.at(of_queries, mates[:, 0], sides[mates[:, 1]])
    if builder.frozen:
        _bar(builder, mates, of_queries, sides, builder.queries["title"].filter(kept))
    _write_pairs(builder, mates, of_queries, sides)
    _write_query_pairs(builder, kept, of_queries)
    builder.write_pools()
    return Reading(sides != TEST, of_queries != TEST, kept)


def _numbered(builder: TaskBuilder) -> tuple[Int32, Mask]:
    """Rows of the translations, sorted, of queries that have one; and which these are."""
    numbers = [
        pl.DataFrame({name: texts["id"], f"{name}_row": np.arange(len(texts))})
        for name, texts in (("source", builder.queries), ("target", builder.documents))
    ]
    where = builder.collection.path
    pairs = pl.concat(list(builder.collection.ends(collection.TRANSLATION))).unique()
    joined = pairs.join(numbers[0], on="source").join(numbers[1], on="target")
    if len(joined) != len(pairs):
        raise BadInput(
            f"{where}: {len(pairs) - len(joined)} translations have an end that is no text. "
            f"{collection.INGEST}"
        )
    if joined.is_empty():
        raise BadInput(f"{where}: it has no translations. Ingest texts that have.")
    rows = joined.select("source_row", "target_row").sort(pl.all()).to_numpy()
    kept = np.zeros(len(builder.queries), np.bool_)
    kept[rows[:, 0]] = True
    position = np.cumsum(kept) - 1
    builder.skipped["queries_without_translation"] = int(np.count_nonzero(~kept))
    return np.column_stack([position[rows[:, 0]], rows[:, 1]]).astype(np.int32), kept


def _bar(
    builder: TaskBuilder, mates: Int32, of_queries: Splits, sides: Splits, titles: pl.Series
) -> None:
    """Take queries of frozen sets, and their translations, off the sides that are trained on."""
    queries, documents = excluded_articles(builder.frozen, titles, builder.documents["title"])
    queries[mates[documents[mates[:, 1]], 0]] = True
    documents[mates[queries[mates[:, 0]], 1]] = True
    queries &= of_queries != TEST
    of_queries[queries] = NO_SIDE
    sides[documents & (sides != TEST)] = NO_SIDE
    builder.skipped["frozen_queries"] = int(np.count_nonzero(queries))


def _write_pairs(builder: TaskBuilder, mates: Int32, of_queries: Splits, sides: Splits) -> None:
    links = links_of(builder)
    tasks = {MATES: (mates, of_queries), MONOLINGUAL: (links, sides)}
    if builder.spec.relevant == LINK_OF_TRANSLATION:
        linked = np.unique(follow(mates[:, 0], mates[:, 1], links), axis=0)
        tasks[""] = linked[~np.isin(keys(linked), keys(mates))], of_queries
        write_exclude(builder.path, mates, len(of_queries), len(sides))
    else:
        tasks[""] = tasks.pop(MATES)
        write_exclude(builder.path, mates[:0], len(of_queries), len(sides))
    for name, (rows, of_rows) in tasks.items():
        (builder.path / name).mkdir(exist_ok=True)
        pairs = write_pairs(builder.path / name / PAIRS, rows, of_rows[rows[:, 0]])
        missing = [side for side, n in pairs.items() if n == 0]
        if not name and missing:
            raise BadInput(
                f"{builder.collection.path}: of {len(mates)} translations and {len(links)} links "
                f"between documents no pair is left for {', '.join(missing)}. Ingest more texts, "
                f"or split otherwise: {typed('split-seed', builder.spec.split_seed + 1)}."
            )
        builder.counts[f"{name}_pairs" if name else "pairs"] = pairs


def _write_query_pairs(builder: TaskBuilder, kept: Mask, of_queries: Splits) -> None:
    """Write links of queries to queries of training, and which these are."""
    links = links_of(builder, collection.QUERY_LINK)
    between = kept[links].all(axis=1)
    builder.skipped["query_links_without_translation"] = int(np.count_nonzero(~between))
    links = (np.cumsum(kept) - 1)[links[between]]
    trained = of_queries == TRAIN
    links = links[trained[links[:, 1]]]
    rows = np.column_stack([links[:, 0], (np.cumsum(trained) - 1)[links[:, 1]]])
    where = builder.path / MONOLINGUAL_QUERIES
    where.mkdir()
    np.save(where / _ROWS, np.flatnonzero(trained).astype(np.int32))
    pairs = write_pairs(where / PAIRS, rows.astype(np.int32), of_queries[links[:, 0]])
    builder.counts[f"{MONOLINGUAL_QUERIES}_pairs"] = pairs


def write_rewritten(
    builder: TaskBuilder,
    kept: Mask,
    query_view: TextView,
    document_view: TextView,
    translations: Path | None,
) -> None:
    """Write the queries in all views of rewritten texts; each rewriting is done once.

    Parameters
    ----------
    translations : Path or None
        Parquet of ``id`` and ``text``, for views ``translated.WEIGHTING``.
    """
    rewritings = builder.spec.rewritings
    for kind in sorted({rewriting.kind for rewriting in rewritings}):
        base = query_view if kind == "untitled" else document_view
        rewriter = _rewriter(builder, kind, query_view.language, document_view.language)
        view = RewrittenView(Rewriting(kind, Weighting(COUNTS)), rewriter, base)
        weightings = {str(r): r.weighting for r in rewritings if r.kind == kind}
        for name, weighting in weightings.items():
            view.named(weighting).save(rewritten_path(builder.path, name))
        blocks: Iterable[list[bytes]]
        if kind == "translated":
            texts = _given(builder, translations, builder.queries["id"].filter(kept))
            blocks = batches(text.encode() for text in texts)
        else:
            blocks = texts_of(builder.collection, "queries", kept)
        counts = (view.transform([text.decode() for text in block]) for block in blocks)
        nonzeros = write_weighted(builder.path, counts, base.statistics, weightings)
        builder.counts.setdefault("rewritten_nonzeros", {}).update(nonzeros)


def _rewriter(builder: TaskBuilder, kind: str, source: str, target: str) -> Rewriter:
    if kind == "untitled":
        return Removal(builder.queries["title"])
    if kind == "translated":
        return None
    if builder.collection.dictionary is None:
        raise BadInput(
            f"views 'dictionary.': {builder.collection.path} has no dictionary. Give one when it "
            "is ingested, or leave the rows out that read it."
        )
    dictionary = [builder.collection.dictionary]
    entries = files.read_strings(dictionary, "source", "target", remedy=collection.INGEST)
    return Translation(entries, source, target)


def _given(builder: TaskBuilder, translations: Path | None, ids: pl.Series) -> list[str]:
    """Return translations that were given, in the order of the queries."""
    if translations is None:
        raise BadInput(
            "a view 'translated.' reads queries that are given in the language of the documents; "
            f"give them ({typed('translations', 'FILE')}), or leave the rows out that read it."
        )
    given = files.read_strings([translations], "id", "text", remedy="Write it anew.")
    joined = ids.to_frame("id").join(
        given.unique("id", keep="first"), on="id", how="left", maintain_order="left"
    )
    builder.skipped["queries_without_given_translation"] = joined["text"].null_count()
    return joined["text"].fill_null("").to_list()


def open_translations(task: Task, path: Path) -> Task:
    """Complete an opened task with its further ones."""
    queries, documents = task.queries, task.documents
    trained = load_array(path / MONOLINGUAL_QUERIES / _ROWS)
    if len(trained) and not 0 <= trained.min() <= trained.max() < len(queries):
        raise BadInput(
            f"{path / MONOLINGUAL_QUERIES}: its documents are not rows of {len(queries)} queries. "
            f"{files.MAKE_AGAIN}"
        )
    further = {
        MONOLINGUAL: replace(
            task, queries=documents, exclude=_themselves(np.arange(len(documents)), len(documents))
        ),
        MONOLINGUAL_QUERIES: replace(
            task,
            documents=queries.take(trained),
            exclude=_themselves(trained, len(queries)),
            pool=None,
            valid_pool=None,
        ),
    }
    if (path / MATES).exists():
        nothing = sparse.csr_array((len(queries), len(documents)), dtype=np.bool_)
        further[MATES] = replace(task, exclude=nothing)
    auxiliary = {}
    for name, one in further.items():
        pairs = [load_pairs(path / name, side) for side in SPLITS]
        auxiliary[name] = replace(
            one,
            train=pairs[TRAIN],
            valid=pairs[VALID],
            test=pairs[TEST],
            key=f"{task.key} {name}",
        )
    return replace(task, auxiliary=auxiliary)


def _themselves(rows: NDArray[np.integer], queries: int) -> sparse.csr_array:
    """Bar the query that each document is, given their rows, ascending."""
    ones, columns = np.ones(len(rows), np.bool_), np.arange(len(rows))
    return sparse.csr_array((ones, (rows, columns)), shape=(queries, len(rows)))
