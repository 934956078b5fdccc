"""Judged queries beside documents that are read already: two files, and a collection of all three.

Queries are a table with columns for id and text (that of BEIR, ``_id`` and ``text``, too), lines
of an id, a tab and the query, or topics of TREC. Judgements are a table of query, document and
grade (``query-id``, ``corpus-id`` and ``score`` of BEIR, too), or lines without a header: the four
columns of TREC's qrels, or the three of such a table.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import collection
from ssi_core.collection import Collection, PartWriter, open_collection
from ssi_core.corpus.judged.judgements import write_judgements
from ssi_core.corpus.judged.trec import number_of, read_grade, read_topics, text_lines
from ssi_core.corpus.tables.form import GUESSED, TableForm, kind_of
from ssi_core.corpus.tables.reader import header_of, whole_rows
from ssi_core.corpus.tables.roles import JUDGEMENTS, QUERIES, Names, roles_of
from ssi_core.corpus.texts import as_listed
from ssi_core.remedies import typed
from ssi_core.strict import listed
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.corpus.sources.judged import Judged
    from ssi_core.store import Building

_log = logging.getLogger(__name__)

_LINES = ("", "tsv")
"""Kinds of files that may be lines without a header."""
_SHOWN = 3


def documents_of(directory: Path) -> Collection:
    """Open a collection of documents; `BadInput` where it has queries."""
    documents = open_collection(directory)
    if documents.has_queries:
        raise BadInput(
            f"{directory}: it has queries already. Give the documents alone, or leave out the "
            f"queries ({typed('queries')}, {typed('qrels')})."
        )
    return documents


def build(building: Building, source: Judged, progress: Progress | None) -> None:
    """Write the documents of another collection, queries and their judgements.

    Links, words of links and labels of the documents are kept.

    Raises
    ------
    BadInput
        A file is missing or damaged, or no judgement is of one of the queries and one of the
        documents; the message has ids of both.
    """
    documents, queries, qrels = documents_of(*source.paths), source.queries, source.qrels
    form = TableForm(**source.written)
    texts = read_queries(queries, source.columns, form)
    judged = read_judgements(qrels, source.columns, form)
    if _has_topics(queries):
        numbers = [number_of(name) for name in judged["query"]]
        judged = judged.with_columns(query=pl.Series(numbers, dtype=pl.String))
    ids = pl.concat(list(_ids(documents)))
    for side, known in (("query", texts["id"]), ("document", ids)):
        judged = judged.with_columns(as_listed(judged[side], known))
    _require_overlap(queries, texts["id"], qrels, judged["query"].unique(maintain_order=True))
    named = judged["document"].unique(maintain_order=True)
    _require_overlap(documents.path, ids, qrels, named)
    _link(building.path, documents)
    building.counts.update(documents.artefact.counts)
    building.skipped.update(documents.artefact.skipped)
    write_judgements(building, texts, judged, qrels)
    answered = judged.filter((pl.col("grade") > 0) & pl.col("document").is_in(ids.implode()))
    idle = texts.filter(~pl.col("id").is_in(answered["query"].implode()))
    if len(idle):
        building.skipped["query_without_relevant_document"] = len(idle)
    _say(queries, len(idle), len(texts), "queries have no relevant document", idle["id"])
    unknown = named.filter(~named.is_in(ids.implode()))
    _say(qrels, len(unknown), len(named), "judged documents do not exist", unknown)


def _say(path: Path, some: int, of: int, what: str, names: pl.Series) -> None:
    if some:
        _log.warning("%s: %d of %d %s, such as %s", path.stem, some, of, what, _quoted(names))


def _quoted(names: pl.Series) -> str:
    return ", ".join(map(repr, names.head(_SHOWN).to_list()))


def _require_overlap(known_in: Path, known: pl.Series, qrels: Path, named: pl.Series) -> None:
    if not named.is_in(known.implode()).any():
        raise BadInput(
            f"{qrels}: it names nothing of {known_in}: {_quoted(named)}, where {known_in.name} has "
            f"{_quoted(known)}. Name both in the same way."
        )


def _ids(documents: Collection) -> Iterator[pl.Series]:
    for part in documents.parts("documents"):
        yield pl.read_parquet(part, columns=["id"], glob=False)["id"]


def _link(path: Path, documents: Collection) -> None:
    """Give the parts of a collection a second name in another."""
    tables = ["documents", *(collection.relation_at(name) for name in documents.relations)]
    for table in tables:
        PartWriter(path / table, {}).link_all(documents.parts(table))
    if labels := documents.labels("documents"):
        PartWriter(path / labels[0].parent.name, {}).link_all(labels)


def read_queries(
    path: Path, declared: Mapping[str, str] | None = None, form: TableForm = GUESSED
) -> pl.DataFrame:
    """Read queries: a frame of ``id`` and ``text``.

    Parameters
    ----------
    path : Path
        A table, topics of TREC, or lines of an id and a text.
    declared : mapping, optional
        Role -> column of a table, where the guess is wrong.
    form : TableForm
        How a table is written, as far as it is declared.

    Raises
    ------
    BadInput
        The file is missing or damaged, or of no format that is known.
    """
    rows = _table(path, QUERIES, declared or {}, form)
    if rows is None:
        named = read_topics(path) if _has_topics(path) else _named_texts(path)
        rows = pl.DataFrame(list(named), schema=dict.fromkeys(QUERIES, pl.String), orient="row")
    return rows.select("id", pl.col("text").fill_null(""))


def _has_topics(path: Path) -> bool:
    lines = text_lines(path) if kind_of(path) in _LINES else ()
    return any("<top>" in line.lower() for line in lines)


def _named_texts(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text_lines(path), 1):
        name, tab, text = line.strip().partition("\t")
        if name and not tab:
            raise BadInput(
                f"{path}: line {number} is {line.strip()[:60]!r}, expected an id, a tab and a "
                "query; or a header that names id and text. Repair or remove the line."
            )
        if name:
            yield name.strip(), text.strip()


def read_judgements(
    path: Path, declared: Mapping[str, str] | None = None, form: TableForm = GUESSED
) -> pl.DataFrame:
    """Read judgements: a frame of ``query``, ``document`` and ``grade`` (float32).

    Parameters
    ----------
    declared, form : mapping or TableForm
        See `read_queries`.

    Raises
    ------
    BadInput
        The file is missing or damaged, of no format that is known, or a grade is no number.
    """
    rows = _table(path, JUDGEMENTS, declared or {}, form)
    if rows is None:
        schema = {**dict.fromkeys(JUDGEMENTS, pl.String), "line": pl.Int64}
        rows = pl.DataFrame(list(_lines(path)), schema=schema, orient="row")
    grades = pl.Series([read_grade(text or "") for text in rows["grade"]], dtype=pl.Float32)
    nameless = pl.any_horizontal(pl.col("query", "document").fill_null("").str.strip_chars() == "")
    wrong = rows.filter(grades.is_null() | rows.select(nameless).to_series())
    if len(wrong):
        row = wrong.row(0, named=True)
        raise BadInput(
            f"{path}: line {row['line']} has {row['query']!r}, {row['document']!r} and "
            f"{row['grade']!r}, expected a query, a document and a number as the grade. Repair or "
            "remove the line."
        )
    return rows.select("query", "document", grade=grades)


def _table(
    path: Path, known: Names, declared: Mapping[str, str], form: TableForm
) -> pl.DataFrame | None:
    """Read a table whose header names the roles; None for lines without a header."""
    kind = kind_of(path, form)
    roles = roles_of(path, known, declared, form=form) if kind else {}
    if len(roles) < len(known):
        if kind in _LINES:
            return None
        lacking = next(role for role in known if role not in roles)
        raise BadInput(
            f"{path}: no column for the {lacking}: it has {listed(header_of(path, form))}. Name "
            f"one {' or '.join(known[lacking])}, or say so: " + typed("column", {lacking: "NAME"})
        )
    return pl.concat(block.select("line", *roles) for block in whole_rows(path, roles, form))


def _lines(path: Path) -> Iterator[tuple[str, str, str, int]]:
    """Yield query, document, grade and number of the lines of judgements without a header."""
    for number, line in enumerate(text_lines(path), 1):
        fields = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        fields = [field.strip() for field in fields]
        if not any(fields):
            continue
        if len(fields) not in (3, 4):
            raise BadInput(
                f"{path}: line {number} is {line.strip()[:60]!r}, expected a query, an iteration, "
                "a document and a grade, as TREC has them, or a header that names query, document "
                "and grade. Repair the file."
            )
        yield fields[0], fields[-2], fields[-1], number
