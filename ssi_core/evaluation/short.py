"""Short queries for a model of links: whatever it learnt from, a person types a few words.

They are made of the task alone, for tasks whose queries are documents, and are slices of the report
(`evaluation.slices`), named as such queries are in a task (`tasks.spec`):

===========  ======================================================================================
``titles``   the title of a document, which is to be found
``anchors``  words of links, where the collection knows them: what they lead to is to be found
``words:3``  three random words of a document, which is to be found
``link:3``   three random words of a query of the report, whose links are to be found
===========  ======================================================================================

Titles and words are of documents whose title the keyed hash puts on the side that is measured, and
anchors are the wordings on it: those that tasks of such queries test, and that no training reads as
short queries. Texts of documents keep their titles. A drawn word is there once, as one types it;
the queries of a task of words weigh it as in the document. At most 10,000 of a kind are drawn: a
mean has a standard error of .005 at most. Candidates are the documents of the pool, and those that
are looked for. ``popular_at_10`` is the share of the ten first that is among the 1 % most linked
(`popularity`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core import store
from ssi_core.evaluation import slices
from ssi_core.evaluation.candidates import Candidates, Side, candidates
from ssi_core.evaluation.popularity import Popularity
from ssi_core.evaluation.ranking import embedded, rank_parts, rows_held
from ssi_core.scoring.vectors import Fitted, Vectors, refuse_nan
from ssi_core.tasks.names import read_anchored
from ssi_core.tasks.split import SPLITS, hash_titles, side_of_documents
from ssi_core.types import Int32, Int64, Pairs, Task, Texts
from ssi_core.views.names import COUNTS
from ssi_core.views.text_view import rows_in_views

_WORDS, _MOST = 3, 10_000


def short_queries(
    fitted: Fitted, task: Task, chosen: Candidates, side: Side, *, seed: int, threads: int
) -> pl.DataFrame:
    """Measure a model on the short queries of a task.

    Parameters
    ----------
    chosen : Candidates
        Candidates of the report; as many documents are drawn.
    seed : int
        Random seed of the documents and words.

    Returns
    -------
    DataFrame
        As `slices.measured` makes it, with ``popular_at_10``. Empty where queries are no documents,
        and for a model that reads no text, as a run of another system.
    """
    frames = [pl.DataFrame(schema=slices.SCHEMA)]
    reads = task.same and COUNTS in task.queries.views
    if not reads or not getattr(fitted.model, "reads_text", True):
        return frames[0]
    kinds = list(_kinds(task, chosen, side, seed))
    # Of queries in parts only the documents of a part are held at a time, and one here.
    at_once = [one.documents[: 1 if one.is_divided else None] for _, _, one, _ in kinds]
    rows = np.unique(np.concatenate(at_once))
    documents = embedded(fitted, task, "document", rows)
    for name, texts, ranked, ids in kinds:
        queries = refuse_nan(fitted.embed_queries(texts), "queries")

        def embed(
            first: int, part: Candidates, whole: Candidates = ranked, queries: Vectors = queries
        ) -> tuple[Vectors, Vectors]:
            if part is whole:
                return queries, rows_held(documents, rows, part.documents)
            of_part = queries.take(slice(first, first + len(part.queries)))
            return of_part, embedded(fitted, task, "document", part.documents)

        popularity = Popularity(task, ranked)
        ranks = rank_parts(ranked, embed, popularity.inspecting, threads)
        every = {name: np.ones(len(ranks.rank), np.bool_)}
        popular = popularity.per_query().get(slices.POPULAR)
        frames.append(slices.measured(ranks, every, ids, popular))
    return pl.concat(frames)


def _kinds(
    task: Task, chosen: Candidates, side: Side, seed: int
) -> Iterator[tuple[str, Texts, Candidates, pl.Series]]:
    """Yield name, texts, candidates and ids of each kind of queries."""
    if len(chosen.queries) > _MOST:
        chosen = candidates(task, side, _MOST, seed)
    most, ids = len(chosen.queries), task.documents.ids
    rows = _documents(task, side, most, seed)
    titled = rows[(task.documents.titles[rows] != "").to_numpy()]
    if len(titled):
        titles = task.documents.titles[titled].to_list()
        yield "titles", _texts(task, titles), _looking(task, titled), ids[titled]
    anchors = _anchors(task, side, most, seed)
    if len(anchors):
        texts, targets = anchors["text"], anchors["d"].explode().to_numpy()
        looking = _looking(task, targets, np.repeat(np.arange(len(texts)), anchors["d"].list.len()))
        yield "anchors", _texts(task, texts.to_list()), looking, texts
    drawn = _drawn(task, rows, seed)
    if any(drawn):
        worded = rows[[bool(words) for words in drawn]]
        texts_drawn = _texts(task, list(filter(None, drawn)))
        yield f"words:{_WORDS}", texts_drawn, _looking(task, worded), ids[worded]
    of_links = _texts(task, _drawn(task, chosen.queries, seed))
    yield f"link:{_WORDS}", of_links, chosen, task.queries.ids[chosen.queries]


def _documents(task: Task, side: Side, most: int, seed: int) -> Int32:
    """Draw documents whose titles are on a side, ascending."""
    split_seed = 0
    if task.path is not None:
        # Of a task or a frozen set; a collection that is read as it is has none.
        split_seed = store.read(task.path).configuration.get("split_seed", 0)
    sides = side_of_documents(task.documents.titles, seed=split_seed)
    rows = np.flatnonzero(sides == SPLITS.index(side))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng([seed, _WORDS]).choice(rows, most, replace=False))
    return rows.astype(np.int32)


def _anchors(task: Task, side: Side, most: int, seed: int) -> pl.DataFrame:
    """Draw the wordings of a side, with the rows of their documents."""
    if task.path is None:
        return pl.DataFrame()
    anchors = read_anchored(task.path, side)
    if len(anchors) <= most:
        return anchors
    rows = np.random.default_rng([seed, _WORDS]).choice(len(anchors), most, replace=False)
    return anchors[np.sort(rows)]


def _looking(task: Task, documents: Int32, queries: Int64 | None = None) -> Candidates:
    """Return the candidates of known-item queries."""
    asking = np.arange(len(documents)) if queries is None else queries
    pairs, none = Pairs.of(np.column_stack([asking, documents])), Pairs.of(())
    shape = (int(asking[-1]) + 1, len(task.documents))
    nothing = sparse.csr_array(shape, dtype=np.bool_)
    looking = replace(task, train=none, valid=none, test=pairs, exclude=nothing)
    return candidates(looking, "test", None, 0)


def _drawn(task: Task, rows: Int32, seed: int) -> list[str]:
    """Draw distinct words of documents; empty if a document has fewer."""
    counts, words = task.queries.matrix(COUNTS), task.queries.views[COUNTS].words
    states = hash_titles(task.queries.titles[rows], seed, b"short words", "titles")
    drawn = []
    for row, state in zip(rows.tolist(), states.tolist(), strict=True):
        columns = counts.indices[counts.indptr[row] : counts.indptr[row + 1]]
        draw = np.random.default_rng(state)
        few = draw.permutation(columns)[:_WORDS].tolist() if len(columns) >= _WORDS else []
        drawn.append(" ".join(words[column] for column in few))
    return drawn


def _texts(task: Task, texts: list[str]) -> Texts:
    """Read texts as queries without ids, so that no model takes one for a document."""
    views = task.queries.views
    names = pl.Series([""] * len(texts), dtype=pl.String)
    return Texts(names, pl.Series(texts, dtype=pl.String), rows_in_views(views, texts), views)
