"""DBpedia-Entity v2: queries of four benchmarks, and entities of DBpedia that were judged for them.

Hasibi, Nikolaev, Xiong, Balog, Bratsberg, Kotov and Callan (2017), DBpedia-Entity v2: a test
collection for entity search. The publisher divides the queries into five folds. A document is the
title that follows from the identifier of an entity.

In a fold, what was judged relevant to the queries of the other four is what was clicked on, once
each: a grade says how relevant an entity is, not how often it was chosen. The queries of the fold
itself are judged. Queries of one wording are one, in the fold of the first of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import polars as pl

from ssi_core import files
from ssi_core.corpus import inputs
from ssi_core.datasets.query_log import QueryLog, write_query_log
from ssi_core.text.wording import wording_of
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.sources import DbpediaEntity
    from ssi_core.store import Building

QUERIES, QRELS, FOLDS = "queries-v2.txt", "qrels-v2.txt.gz", "folds/all_queries.json"
GRADES = ("0", "1", "2")
_BEGIN, _END = "<dbpedia:", ">"
_RESTORE = "Restore the published file."


def files_in(directory: Path) -> list[Path]:
    """Return queries, judgements and folds."""
    return [directory / QUERIES, directory / QRELS, directory / FOLDS]


def title_of(entity: str) -> str:
    """Return the title that an identifier stands for.

    Raises
    ------
    ValueError
        It is no identifier of DBpedia.

    >>> title_of("<dbpedia:Albert_Einstein>"), title_of("<dbpedia:Caf%C3%A9_(film)>")
    ('Albert Einstein', 'Café (film)')
    """
    name = entity.removeprefix(_BEGIN).removesuffix(_END)
    if entity != f"{_BEGIN}{name}{_END}":
        raise ValueError(f"{entity!r} is no identifier of DBpedia")
    if title := unquote(name, errors="strict").replace("_", " ").strip():
        return title
    raise ValueError(f"{entity!r} has no title")


def read_queries(path: Path) -> dict[str, str]:
    """Return the wording of each query by its id."""
    queries: dict[str, str] = {}
    for number, line in enumerate(inputs.text_lines(path, _RESTORE), 1):
        fields = line.rstrip("\r\n").split("\t")
        wording = wording_of(fields[-1])
        if len(fields) != 2 or not fields[0] or not wording or fields[0] in queries:
            raise BadInput(
                f"{path}: line {number} is {line[:60]!r}, expected an id that no line above has, a "
                f"tab and a query. {_RESTORE}"
            )
        queries[fields[0]] = wording
    return queries


def read_judgements(path: Path, queries: Mapping[str, str]) -> pl.DataFrame:
    """Return ``id`` (of the query), ``text``, ``document`` (the entity), ``title``, ``grade``."""
    rows = []
    for number, line in enumerate(inputs.text_lines(path, _RESTORE), 1):
        fields = line.rstrip("\r\n").split("\t")
        try:
            query, iteration, entity, grade = fields
            title = title_of(entity)
            known = query in queries and iteration == "Q0" and grade in GRADES
        except ValueError:
            known = False
        if not known:
            raise BadInput(
                f"{path}: line {number} is {line[:60]!r}, expected the id of a query of {QUERIES}, "
                f"Q0, an entity ({_BEGIN}NAME{_END}) and a grade ({', '.join(GRADES)}), with tabs "
                f"between them. {_RESTORE}"
            )
        rows.append((query, queries[query], entity, title, float(grade)))
    names = ["id", "text", "document", "title", "grade"]
    return pl.DataFrame(rows, schema=names, orient="row", schema_overrides={"grade": pl.Float32})


def read_folds(path: Path, queries: Mapping[str, str]) -> dict[str, int]:
    """Return the fold, from 1, that tests each query, by its id."""
    text = inputs.read_text(path, _RESTORE)
    with files.reading(path, _RESTORE):
        found = json.loads(text)
    try:
        tested = {int(key) + 1: list(sides["testing"]) for key, sides in found.items()}
        trained = {int(key) + 1: set(sides["training"]) for key, sides in found.items()}
        folds = {query: fold for fold, of_fold in tested.items() for query in of_fold}
        whole = sorted(tested) == list(range(1, 6)) and folds.keys() == queries.keys()
        whole = whole and sum(map(len, tested.values())) == len(folds)
        whole = whole and all(trained[n] == folds.keys() - set(tested[n]) for n in tested)
    except (AttributeError, KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise BadInput(
            f'{path}: expected five folds, "0" to "4", with the ids of {QUERIES}: each is in '
            f"'testing' of one fold, and in 'training' of the others. {_RESTORE}"
        )
    return folds


def build(building: Building, source: DbpediaEntity, progress: Progress | None) -> None:
    """Write a query log: entities that are relevant to four fifths of the queries, one judged.

    Left out are, in training, judgements that an entity is not relevant
    (``skipped["training_judgement_not_relevant"]``), and what is judged again for another query of
    the same wording (``skipped["judgement_of_repeated_query"]``).
    """
    path, of_queries, of_folds = files_in(*source.paths)
    queries = read_queries(path)
    judgements, folds = read_judgements(of_queries, queries), read_folds(of_folds, queries)
    first: dict[str, int] = {}
    for query, wording in queries.items():
        first.setdefault(wording, folds[query])
    rows = judgements.unique(["text", "document"], keep="first", maintain_order=True)
    tested = pl.col("text").replace_strict(first, return_dtype=pl.Int64) == source.fold
    training, judged = rows.filter(~tested), rows.filter(tested)
    relevant = training.filter(pl.col("grade") > 0)
    one = {"clicks": pl.lit(1, pl.Int64), "shown": pl.lit(None, pl.Int64)}
    log = QueryLog(
        pairs=[relevant.select("text", "document", **one)],
        documents=[rows.select(id="document", title="title").unique("id").sort("id")],
        judgements=judged.select("text", "document", "grade"),
        language="en",
        where=of_queries,
    )
    write_query_log(building, log)
    building.counts["rows"] = len(judgements)
    left_out = {
        "training_judgement_not_relevant": len(training) - len(relevant),
        "judgement_of_repeated_query": len(judgements) - len(rows),
    }
    building.skipped.update({name: n for name, n in left_out.items() if n})
