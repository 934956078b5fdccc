"""Judgements by themselves: a table of query, document and grade, qrels, or Discernatron."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from ssi_core.corpus import inputs
from ssi_core.corpus.judged.queries import read_judgements
from ssi_core.corpus.judged.trec import read_grade, read_qrels
from ssi_core.corpus.tables.form import kind_of, stem_of
from ssi_core.types import BadInput

QUERIES, SCORES, PAGES = "search_queries.tsv", "discernatron_scores.tsv", "page_info.tsv"
"""Files of Discernatron."""
_RESTORE = "Restore the published file."
_QRELS = (".txt", ".qrels")
_COLUMNS = ("query", "document", "grade")
_SCHEMA = {"query": pl.String, "document": pl.String, "grade": pl.Float32}


def judgement_files(path: Path) -> list[Path]:
    """Return the files that `read_judged` reads; `BadInput` where there are none."""
    if not path.is_dir():
        return [path]
    missing = [name for name in (QUERIES, SCORES, PAGES) if not (path / name).is_file()]
    if missing:
        raise BadInput(
            f"{path}: {', '.join(missing)} missing. Give the directory of Discernatron's files, or "
            f"a table with the columns {', '.join(_COLUMNS)}."
        )
    return [path / name for name in (QUERIES, SCORES, PAGES)]


def read_judged(path: Path) -> pl.DataFrame:
    """Return ``query``, ``document`` and ``grade`` of all judgements, in their order.

    Parameters
    ----------
    path : Path
        A table (CSV, TSV, JSON lines, parquet, plain or packed) with these columns; qrels of TREC
        (.txt, .qrels); or a directory of Discernatron, whose queries are wordings and whose
        documents are titles of Wikipedia.

    Raises
    ------
    BadInput
        A file is missing or damaged, or a grade is no number; the message names the line.
    """
    paths = judgement_files(path)
    if len(paths) > 1:
        return _discernatron(*paths)
    if is_qrels(path):
        return read_qrels(path)
    if path.is_file() and not kind_of(path):
        raise BadInput(
            f"{path}: its name does not say what it is. Name it .csv, .tsv, .jsonl or .parquet: a "
            f"table with the columns {', '.join(_COLUMNS)}."
        )
    return read_judgements(path)


def is_qrels(path: Path) -> bool:
    """Tell whether a path has the name of qrels; theirs are ids, and no wordings."""
    return stem_of(path).suffix in _QRELS


def _discernatron(queries: Path, scores: Path, pages: Path) -> pl.DataFrame:
    """Return Discernatron's judgements; the grade is the mean of the raters, 0 to 3.

    A title is that of the API, which has the namespace: ``Talk:Bantu peoples`` is another page than
    ``Bantu peoples``.
    """
    wordings = {row["query_id"]: row["query"] for _, row in _rows(queries, "query_id", "query")}
    titles = {
        row["page_id"]: row["page_title_api"]
        for _, row in _rows(pages, "page_id", "page_title_api")
    }
    rows = []
    for line, row in _rows(scores, "query_id", "page_id", "score"):
        grade = read_grade(row["score"])
        query, title = wordings.get(row["query_id"]), titles.get(row["page_id"])
        if grade is None or query is None or title is None:
            raise BadInput(
                f"{scores}: line {line}: query_id {row['query_id']!r}, page_id {row['page_id']!r}, "
                f"score {row['score']!r}: expected a query of {queries.name}, a page of "
                f"{pages.name} and a number. Restore the published files."
            )
        rows.append((query, title, grade))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _rows(path: Path, *columns: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a TSV file with quotes and a header, and their lines."""
    with inputs.open_text(path, _RESTORE, newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", strict=True)
        try:
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise BadInput(f"{path}: no column {', '.join(missing)}. {_RESTORE}")
            for row in reader:
                if any(row[name] is None for name in columns):
                    raise BadInput(f"{path}: line {reader.line_num} is too short. {_RESTORE}")
                yield reader.line_num, row
        except csv.Error as error:
            at = reader.reader.line_num  # that of the other is of the row before
            raise BadInput(f"{path}: line {at}: {error}. {_RESTORE}") from None
