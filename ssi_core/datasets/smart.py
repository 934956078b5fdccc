"""Test collections of queries with judgements: Cranfield, CISI, CACM, in the format of SMART.

A record begins with ``.I NUMBER``; ``.T`` (title), ``.A`` (authors), ``.W`` (text), ``.K`` (key
words) and others begin its fields. Judgements are lines of a query, a document and what the file
says of the two (Cleverdon 1967; Fox 1983).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import collection
from ssi_core.corpus import inputs
from ssi_core.corpus.judged.judgements import write_queries, write_relation
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.sources import Smart
    from ssi_core.store import Building

FIELDS = ("T", "A", "W", "K")
"""What the text of a record is made of, in this order: title, authors, text, key words."""

_MARK = re.compile(r"\.(?:I\s+(\d+)|([A-HJ-Z]))\s*")


@dataclass(frozen=True)
class Layout:
    """Names and habits of one collection's files.

    Attributes
    ----------
    documents, queries, judgements : str
        Names of the files, in lower case, without ``.gz``.
    by_position : bool
        Judgements count the queries 1, 2, ... and leave their own numbers aside.
    grades : mapping or None
        Code in the third column -> grade, 0 is not relevant; None: every line is relevant.
    """

    documents: str
    queries: str
    judgements: str
    by_position: bool = False
    grades: Mapping[str, int] | None = None

    @property
    def names(self) -> tuple[str, str, str]:
        """The three files."""
        return self.documents, self.queries, self.judgements


LAYOUTS: Mapping[str, Layout] = {
    # Code 1 is a complete answer, 4 of minimum interest; -1 was not relevant.
    "cranfield": Layout(
        "cran.all.1400",
        "cran.qry",
        "cranqrel",
        by_position=True,
        grades={"1": 4, "2": 3, "3": 2, "4": 1, "-1": 0},
    ),
    "cisi": Layout("cisi.all", "cisi.qry", "cisi.rel"),
    "cacm": Layout("cacm.all", "query.text", "qrels.text"),
}


@dataclass(frozen=True)
class Record:
    """A document or a query: its number and its fields, letter -> text."""

    number: int
    fields: Mapping[str, str]

    @property
    def title(self) -> str:
        """Title on one line; the number where there is none."""
        return " ".join(self.fields.get("T", "").split()) or str(self.number)

    @property
    def text(self) -> str:
        """The fields of `FIELDS`; a title with which the text itself begins is there once."""
        parts = [" ".join(self.fields.get(letter, "").split()) for letter in FIELDS]
        title, _, text, _ = parts
        if text.startswith(title):
            parts[0] = ""
        return "\n".join(part for part in parts if part)


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file; a field that is there twice is joined.

    A number may be broken over two lines, as one of the published CACM file is.

    Raises
    ------
    BadInput
        The file cannot be read, has no record, or one number twice.
    """
    seen: set[int] = set()
    for number, fields in _split(path):
        if number in seen:
            raise BadInput(f"{path}: two records have the number {number}. Remove one.")
        seen.add(number)
        yield Record(number, {letter: "".join(lines) for letter, lines in fields.items()})
    if not seen:
        raise BadInput(f"{path}: no record begins with '.I NUMBER'. Is it a file of SMART's?")


def _split(path: Path) -> Iterator[tuple[int, dict[str, list[str]]]]:
    number = ""
    fields: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in _lines(path):
        mark = _MARK.fullmatch(line)
        if mark is None:
            if number and not fields and line.strip().isdecimal():
                number += line.strip()
            lines.append(line)
        elif mark[2]:
            lines = fields.setdefault(mark[2], [])
        else:
            if number:
                yield int(number), fields
            number, fields, lines = mark[1], {}, []
    if number:
        yield int(number), fields


def require_files(directory: Path) -> tuple[str, list[Path]]:
    """Return what `files_in` finds; `BadInput` where that is nothing."""
    known_files = files_in(directory)
    if known_files is None:
        known = "; ".join(f"{name}: {', '.join(each.names)}" for name, each in LAYOUTS.items())
        raise BadInput(f"{directory}: no test collection is there. Files of those known: {known}.")
    return known_files


def files_in(directory: Path) -> tuple[str, list[Path]] | None:
    """Return the name of the collection that a directory has, and its files; None without one."""
    entries = directory.iterdir() if directory.is_dir() else ()
    files = {path.name.lower().removesuffix(".gz"): path for path in sorted(entries)}
    for name, layout in LAYOUTS.items():
        if all(file in files for file in layout.names):
            return name, [files[file] for file in layout.names]
    return None


def _lines(path: Path) -> Iterator[str]:
    return inputs.text_lines(path, "Restore the published file.")


def build(building: Building, source: Smart, progress: Progress | None) -> None:
    """Write a corpus with queries and judgements of a test collection.

    Documents and queries have their numbers as ids. A judgement is kept when it is of a known
    query and document; one that the document is not relevant has grade 0.
    """
    name, files = require_files(*source.paths)
    layout = LAYOUTS[name]
    unused: Counter[str] = Counter()

    def read(path: Path) -> list[Record]:
        records = list(read_records(path))
        unused.update(f"field_{x}" for record in records for x in {*record.fields} - {*FIELDS})
        return records

    documents, queries = read(files[0]), read(files[1])
    with collection.text_writer(building.path) as writer:
        texts = pl.DataFrame(
            {
                "id": [str(one.number) for one in documents],
                "title": [one.title for one in documents],
                "language": ["en"] * len(documents),
                "text": [one.text for one in documents],
            }
        )
        writer.write(collection.timeless(texts))
    query_texts = [(str(one.number), one.text) for one in queries]
    write_queries(building.path, pl.DataFrame(query_texts, schema=["id", "text"], orient="row"))
    numbers = {
        i if layout.by_position else one.number: one.number for i, one in enumerate(queries, 1)
    }
    known = {one.number for one in documents}
    kept, skipped, lines_read = _judge(files[2], layout, numbers, known)
    rows = [(str(query), str(document), grade) for (query, document), grade in kept.items()]
    names = {"query": pl.String, "document": pl.String, "grade": pl.Float32}
    write_relation(building, pl.DataFrame(rows, schema=names, orient="row"))
    building.counts.update(
        documents=len(documents),
        queries=len(queries),
        judged_queries=len({query for (query, _), grade in kept.items() if grade > 0}),
        judgements=len(kept),
        judgements_not_relevant=sum(grade == 0 for grade in kept.values()),
        judgements_found=lines_read,
    )
    building.skipped.update(sorted(skipped.items()))
    building.skipped.update(sorted(unused.items()))


def _judge(
    path: Path, layout: Layout, numbers: Mapping[int, int], documents: set[int]
) -> tuple[dict[tuple[int, int], int], Counter[str], int]:
    """Grades of judged pairs (query, document), what is left out by reason, and all lines."""
    kept: dict[tuple[int, int], int] = {}
    skipped: Counter[str] = Counter()
    lines_read = 0
    for line_number, line in enumerate(_lines(path), 1):
        fields = line.split()
        if not fields:
            continue
        grades = layout.grades
        whole = len(fields) >= 3 and fields[0].isdecimal() and fields[1].isdecimal()
        if not whole or (grades is not None and fields[2] not in grades):
            codes = "a code" if grades is None else f"one of {', '.join(grades)}"
            raise BadInput(
                f"{path}: line {line_number} is {line.strip()[:60]!r}, expected the numbers of a "
                f"query and a document, and {codes}. Restore the published file."
            )
        lines_read += 1
        number, document = int(fields[0]), int(fields[1])
        grade = 1 if grades is None else grades[fields[2]]
        if number not in numbers:
            skipped["judgement_of_unknown_query"] += 1
        elif document not in documents:
            skipped["judgement_of_unknown_document"] += 1
        elif (numbers[number], document) in kept:
            skipped["judgement_duplicate"] += 1
        else:
            kept[numbers[number], document] = grade
    return kept, skipped, lines_read
