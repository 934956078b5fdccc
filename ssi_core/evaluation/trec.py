"""Rankings as TREC files, for any other tool to measure."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import polars as pl

from ssi_core.evaluation.candidates import Candidates, Side, candidates
from ssi_core.evaluation.measures import count
from ssi_core.evaluation.ranking import blocks, embedded, scores_of
from ssi_core.scoring.decreasing import strictly_decreasing
from ssi_core.scoring.vectors import Fitted
from ssi_core.types import Float32, Int64, Pairs, Task

RUN, QRELS = "run.trec", "qrels.trec"


def escape(identifier: str) -> str:
    """Return an id as one field: white space and ``%`` percent-encoded as UTF-8.

    >>> escape("14th century")
    '14th%20century'
    """
    return re.sub(r"[\s%]", lambda found: quote(found.group()), identifier)


def write_trec(
    fitted: Fitted,
    task: Task,
    directory: Path,
    *,
    side: Side = "test",
    queries: int | None = None,
    seed: int = 0,
    depth: int | None = None,
    threads: int = 1,
    name: str = "ssi",
) -> tuple[Path, Path]:
    """Write ``run.trec`` and ``qrels.trec`` of the queries that `evaluate` measures.

    Documents of equal score stand in the order of the task's documents, which is their order in
    `evaluate`, too: MAP, MRR, P@k and nDCG of the files are those of the report. The scores of the
    files have no ties (`strictly_decreasing`): no tool orders them by a rule of its own. The
    rank loss of the report counts a tie as one half; of the files a tool would count it as 0 or 1.

    Parameters
    ----------
    fitted, task, side, queries, seed, threads : Fitted, Task, Side, int or None, int, int
        As in `evaluate`.
    directory : Path
        Made if need be.
    depth : int or None
        None: every candidate, so that other tools find our MAP (about 45 bytes a line). A number:
        only the first, so that measures cut at or before ``depth`` agree and MAP, which counts what
        lies deeper as not found, is lower.
    name : str
        The last field of the run, without blanks.

    Returns
    -------
    run, qrels : paths
        Ids are escaped by `escape`, scores made distinct by `strictly_decreasing`; grades are those
        of the pairs, 0 for what was judged not relevant.
    """
    chosen = candidates(task, side, queries, seed)
    query_ids = _escaped(task.queries.ids[chosen.queries])
    document_ids = _escaped(task.documents.ids[chosen.documents])

    def ranked() -> Iterator[tuple[str, pl.Series, Float32]]:
        for begin, part in chosen.parts():
            vectors = embedded(fitted, task, "query", part.queries)
            documents = embedded(fitted, task, "document", part.documents)
            score = scores_of(vectors, documents, part, threads)
            ids = _escaped(task.documents.ids[part.documents])
            for first, last in blocks(len(part.queries), len(part.documents)):
                rankings = _rankings(score(first, last), part, first, last)
                for i, (columns, values) in enumerate(rankings, begin + first):
                    yield query_ids[i], ids[columns[:depth]], values

    def run() -> Iterator[pl.DataFrame]:
        for query, best, values in ranked():
            fallen = strictly_decreasing(values)[:depth]
            yield pl.DataFrame(
                {
                    "query": pl.repeat(query, len(best), eager=True),
                    "q0": pl.repeat("Q0", len(best), eager=True),
                    "document": best,
                    "rank": np.arange(1, len(best) + 1),
                    "score": fallen,
                    "name": pl.repeat(name, len(best), eager=True),
                }
            )

    relevant, (judged_queries, judged) = chosen.relevant, _not_relevant(getattr(task, side), chosen)
    query = np.concatenate([np.repeat(np.arange(len(relevant)), relevant.lengths), judged_queries])
    document = np.concatenate([relevant.items, judged])
    grade = np.concatenate([chosen.grade, np.zeros(len(judged_queries), np.float32)])
    levels, level = np.unique(grade, return_inverse=True)
    order = np.lexsort((document, query))
    qrels = pl.DataFrame(
        {
            "query": query_ids[query[order]],
            "iteration": np.zeros(len(order), np.int8),
            "document": document_ids[document[order]],
            "grade": pl.Series([f"{one:g}" for one in levels])[level[order]],
        }
    )
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory / RUN, run())
    _write(directory / QRELS, [qrels])
    return directory / RUN, directory / QRELS


def _not_relevant(pairs: Pairs, chosen: Candidates) -> tuple[Int64, Int64]:
    """Return the query and candidate positions of pairs judged not relevant."""
    rows = pairs.not_relevant
    rows = rows[np.isin(rows[:, 0], chosen.queries) & np.isin(rows[:, 1], chosen.documents)]
    query = np.searchsorted(chosen.queries, rows[:, 0])
    return query, np.searchsorted(chosen.documents, rows[:, 1])


def write_folds(
    parts: Iterable[tuple[Fitted, Task]], directory: Path, **how: Any
) -> tuple[Path, Path]:
    """Write one run and its judgements of several folds, each ranked by the model of its fold.

    Parameters
    ----------
    parts : iterable of tuple
        Model and task of each fold; no query is in two.
    directory : Path
        Made if need be.
    **how : object
        See `write_trec`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as inner:
        folds = [
            write_trec(fitted, task, Path(inner, str(number)), **how)
            for number, (fitted, task) in enumerate(parts)
        ]
        for name, written in zip((RUN, QRELS), zip(*folds, strict=True), strict=True):
            with Path(inner, name).open("wb") as whole:
                for path in written:
                    with path.open("rb") as part:
                        shutil.copyfileobj(part, whole)
            Path(inner, name).rename(directory / name)
    return directory / RUN, directory / QRELS


def _escaped(ids: pl.Series) -> pl.Series:
    return pl.Series([escape(identifier) for identifier in ids.to_list()], dtype=pl.String)


def _rankings(
    scores: Float32, chosen: Candidates, first: int, last: int
) -> Iterator[tuple[Int64, Float32]]:
    """Yield columns and scores of each query's candidates in the protocol's order."""
    part = slice(chosen.relevant.start[first], chosen.relevant.start[last])
    excluded, relevant = chosen.excluded_of(first, last), chosen.relevant.part(first, last)
    # The count leaves -inf where a column is no candidate.
    count(scores, chosen.outside, excluded, relevant, chosen.grade[part])
    for row in scores:
        order = np.argsort(-row, kind="stable")
        order = order[: np.count_nonzero(row > -np.inf)]
        yield order, row[order]


def _write(path: Path, frames: Iterable[pl.DataFrame]) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        for frame in frames:
            frame.write_csv(file, include_header=False, separator=" ", quote_style="never")
    temporary.rename(path)
