"""Collections in the formats of TREC: documents in SGML, topics, judgements (qrels).

Voorhees and Harman (2005), TREC: experiment and evaluation in information retrieval. A document is
``<DOC> <DOCNO>...</DOCNO> ... </DOC>``, a topic ``<top> <num> Number: 301 <title> ... </top>``, a
judgement a line of a query, an iteration, a document and a grade.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core.corpus.inputs import LARGEST_LINE, read_lines
from ssi_core.corpus.judged.judgements import write_judgements
from ssi_core.corpus.user_texts import write_own
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.corpus.sources.judged import Trec
    from ssi_core.store import Building

_NUMBER = re.compile(r"<DOCNO>\s*(\S+?)\s*</DOCNO>", re.IGNORECASE)
_TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD|HL)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_NO_TEXT = re.compile(
    r"<(DOCNO|DOCID|FILEID|DATE|DATE1|DATELINE|BYLINE|DOCHDR|PUB|PAGE)>.*?</\1>",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_FIELD = re.compile(
    r"<(num|title|desc|narr)>\s*(?:Number:|Topic:|Description:|Narrative:)?(.*?)"
    r"(?=<(?:num|title|desc|narr|top)>|</(?:num|title|desc|narr|top)>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_ROWS = 2000


def build(building: Building, source: Trec, progress: Progress | None) -> None:
    """Write a corpus with queries and judgements; `BadInput` where no document is relevant."""
    write_own(
        building,
        _blocks(source.paths, progress),
        (),
        where=source.paths[0],
        language=source.language,
        empty=True,
    )
    queries = pl.DataFrame(
        list(read_topics(source.topics, source.fields)),
        schema={"id": pl.String, "text": pl.String},
        orient="row",
    )
    judged = read_qrels(source.qrels)
    numbers = pl.Series([number_of(name) for name in judged["query"]], dtype=pl.String)
    write_judgements(building, queries, judged.with_columns(query=numbers), source.qrels)


def _blocks(paths: Sequence[Path], progress: Progress | None) -> Iterator[pl.DataFrame]:
    rows: list[tuple[str | None, str, str]] = []
    seen = 0
    for path in paths:
        for number, title, text in read_documents(path):
            rows.append((number, title, text))
            if len(rows) == _ROWS:
                seen += len(rows)
                if progress is not None:
                    progress(0.0, f"{seen:,} documents of {path.name}")
                yield _frame(rows)
                rows = []
    yield _frame(rows)


def _frame(rows: list[tuple[str | None, str, str]]) -> pl.DataFrame:
    schema = dict.fromkeys(("id", "title", "text"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def read_documents(path: Path) -> Iterator[tuple[str | None, str, str]]:
    """Yield number, title and text of the documents of a file; the number may be missing."""
    lines: list[str] = []
    inside = any_document = False
    number = 0
    for number, line in enumerate(text_lines(path), 1):
        mark = line.strip()[:6].upper()
        if mark.startswith("<DOC>"):
            if inside:
                raise BadInput(
                    f"{path}: line {number} begins a document within another: a </DOC> is missing "
                    "before it. Restore the file."
                )
            lines, inside, any_document = [], True, True
        if inside:
            lines.append(line)
        if mark.startswith("</DOC>"):
            yield _document("".join(lines))
            inside = False
    if inside:
        raise BadInput(f"{path}: it ends at line {number} within a document. Restore the file.")
    if not any_document:
        raise BadInput(f"{path}: no line begins with <DOC>. Is it a file of TREC's documents?")


def _document(text: str) -> tuple[str | None, str, str]:
    number, title = _NUMBER.search(text), _TITLE.search(text)
    words = _plain(_NO_TEXT.sub(" ", text))
    return number and number[1], " ".join(_plain(title[2]).split()) if title else "", words


def _plain(text: str) -> str:
    """Return SGML without its tags, a line for each that has words."""
    lines = (line.strip() for line in html.unescape(_TAG.sub(" ", text)).split("\n"))
    return "\n".join(line for line in lines if line)


def read_topics(path: Path, fields: Sequence[str] = ("title",)) -> Iterator[tuple[str, str]]:
    """Yield number and text of each topic.

    Raises
    ------
    BadInput
        The file has no topic, or one without a number.
    """
    text = "".join(text_lines(path))
    if "<top>" not in text.lower():
        for row, line in enumerate(text.splitlines(), 1):
            number, tab, words = line.partition("\t")
            if line.strip() and not tab:
                raise BadInput(
                    f"{path}: line {row} is {line[:60]!r}, expected <top> or a number, a tab and "
                    "the words of a query."
                )
            if tab:
                yield number_of(number.strip()), words.strip()
        return
    for position, topic in enumerate(re.split(r"<top>", text, flags=re.IGNORECASE)[1:], 1):
        fields_of = _FIELD.findall(topic)
        values = {name.lower(): " ".join(_plain(words).split()) for name, words in fields_of}
        if not values.get("num"):
            raise BadInput(f"{path}: topic {position} has no <num>. Restore the published file.")
        yield number_of(values["num"]), " ".join(values.get(field, "") for field in fields)


def number_of(name: str) -> str:
    """Return the name of a query without the zeros that some files put before it.

    >>> number_of("051"), number_of("0")
    ('51', '0')
    """
    return name.lstrip("0") or name


def read_qrels(path: Path) -> pl.DataFrame:
    """Return the judgements of a file: ``query``, ``document`` and ``grade``."""
    rows = []
    for number, line in enumerate(text_lines(path), 1):
        columns = line.split()
        if not columns:
            continue
        grade = read_grade(columns[-1])
        if len(columns) != 4 or grade is None:
            raise BadInput(
                f"{path}: line {number} is {line.strip()[:60]!r}, expected a query, an iteration, "
                "a document and a grade. Restore the published file."
            )
        rows.append((columns[0], columns[2], grade))
    schema = {"query": pl.String, "document": pl.String, "grade": pl.Float32}
    return pl.DataFrame(rows, schema=schema, orient="row")


def read_grade(text: str) -> float | None:
    """Return a finite number; None for what is none.

    >>> read_grade("0.5"), read_grade("-1"), read_grade("nan"), read_grade("relevant")
    (0.5, -1.0, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file in UTF-8, or in Latin-1 as the older ones are."""
    for number, (line, _) in enumerate(read_lines(path), 1):
        if line is None:
            raise BadInput(f"{path}: line {number} has more than {LARGEST_LINE >> 20} MiB.")
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            yield line.decode("latin-1")
