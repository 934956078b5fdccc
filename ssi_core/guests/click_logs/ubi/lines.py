"""Lines of UBI: documents of an export, and the rows that queries and events give."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from ssi_core import files
from ssi_core.corpus import inputs
from ssi_core.corpus.tables.form import kind_of, written_as
from ssi_core.corpus.tables.lines import PROBLEMS, Place, decoded_lines
from ssi_core.corpus.tables.parquet import parquet_batches, parquet_columns
from ssi_core.corpus.tables.reader import header_of, read_rows
from ssi_core.guests.click_logs.ubi.judged import UbiJudged, one_line
from ssi_core.types import BadInput

CLICK, IMPRESSION = "click", "impression"
"""Names of the actions that UBI gives to a click and to a showing."""

T = TypeVar("T")

_WRAPPED = "_source"  # of an exported hit of a search
_ACTIONS = ({"index"}, {"create"})  # keys of the lines between the documents of a bulk request
_NUMBER = 1 << 31
_FIRST = 2  # lines that tell what a file is: perhaps one of a bulk request, and a document
_LONGEST = 1 << 20  # bytes of such a line
ROW: dict[str, Any] = {
    "file": pl.Int32, "line": pl.Int64, "session": pl.String, "kind": pl.String,
    "text": pl.String, "document": pl.String, "position": pl.Int64, "user": pl.String,
    "timestamp": pl.String, "application": pl.String, "hits": pl.List(pl.String),
}  # fmt: skip
"""Columns of a row: that of a query, or of an event that tells of an object."""


@dataclass
class UbiLines:
    """Rows of queries and events, and totals over all lines.

    Attributes
    ----------
    skipped : Counter
        Events and queries that are left out, by reason.
    others : Counter
        Events that are neither a click nor a showing, by their action.
    first : dict
        Smallest ordinal of an impression, by application: 0 where positions begin with 0.
    texts : dict
        Description of an object, by its id.
    judged : UbiJudged
        Judgement lists and query sets among the lines.
    """

    kinds: Mapping[str, str]
    totals: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    judged: UbiJudged = field(default_factory=UbiJudged)

    def row(self, file: int, line: int, one: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return the row of a query, or of an event that tells of an object; else count it."""
        if self.judged.take(one):
            return None
        action = one.get("action_name")
        if action is None and "user_query" not in one:
            self.skipped["neither_query_nor_event"] += 1
            return None
        name = "query" if action is None else "event"
        self.totals[name] += 1
        kind = name if action is None else self.kinds.get(str(action))
        session, text = one_line(one.get("query_id")), one_line(one.get("user_query"))
        if kind is None:
            self.others[str(action)] += 1
        elif session is None:
            self.skipped[f"{name}_without_query_id"] += 1
        elif kind == name and text is None:
            self.skipped["query_without_text"] += 1
        else:
            return self._row(file, line, one, (session, kind, text))
        return None

    def _row(
        self, file: int, line: int, one: Mapping[str, Any], known: tuple[str, str, str | None]
    ) -> tuple[Any, ...] | None:
        about = _inner(one, "event_attributes")
        shown, ordinal = _inner(about, "object"), _inner(about, "position").get("ordinal")
        document, application = (
            one_line(shown.get("object_id")),
            one_line(one.get("application")) or "",
        )
        if known[1] != "query" and document is None:
            self.skipped["event_without_object_id"] += 1
            return None
        position = _number(ordinal)
        if known[1] == IMPRESSION and position is not None:
            self.first[application] = min(position, self.first.get(application, position))
        if document and (words := one_line(shown.get("description"))):
            self.texts.setdefault(document, words)
        user = one_line(one.get("user_id")) or one_line(one.get("client_id"))
        hits = _hits(one.get("query_response_hit_ids")) if known[1] == "query" else None
        when = one_line(one.get("timestamp"))
        return (file, line, *known, document, position, user, when, application, hits)


def _number(value: Any) -> int | None:
    """Return a whole number from 0; None for what is none.

    >>> _number(3), _number("3"), _number(-1), _number("x"), _number(None)
    (3, 3, None, None, None)
    """
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < _NUMBER else None


def _inner(one: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object in another; of a table it is a cell of JSON, or columns with dots."""
    value = one.get(name)
    if type(value) is dict:
        return value
    if isinstance(value, str):
        value = _object(value)
    if isinstance(value, Mapping):
        return value
    start = f"{name}."
    return {key.removeprefix(start): part for key, part in one.items() if key.startswith(start)}


def _hits(value: Any) -> list[str]:
    """Return the ids of a response: a list, or in a table its JSON, or names with | between."""
    if isinstance(value, str):
        value = _list(value) if value.startswith("[") else value.split("|")
    words = (one_line(one) for one in value) if isinstance(value, list) else ()
    return [word for word in words if word]


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _list(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return []


def is_ubi(path: Path) -> bool:
    """Tell whether a file begins with a query or an event; the rest of it is not looked at."""
    try:
        kind = kind_of(path)
        if kind == "jsonl":
            with inputs.open_input(path) as file:
                lines = [_object(file.readline(_LONGEST).decode()) for _ in range(_FIRST)]
                names = {name for one in lines if one for name in one.get(_WRAPPED, one)}
        elif kind == "parquet":
            names = {*parquet_columns(path)}
        else:
            names = {*header_of(path)} if kind else set()
    except (OSError, ValueError):
        return False  # what reads the file says what is wrong with it
    return "query_id" in names and bool(names & {"user_query", "action_name"})


def documents_of(path: Path, take: Callable[[int, Mapping[str, Any]], T]) -> Iterator[_Block[T]]:
    """Yield blocks of a file: what is taken of each document and its line; lines that are none.

    A document is let go once it is taken: a block of them would keep the garbage collector busy.
    """
    kind = kind_of(path)
    if not kind:
        raise BadInput(
            f"{path}: its name does not say what it is. Name it .ndjson, .jsonl, .csv, .tsv or "
            ".parquet."
        )
    with files.reading(path, "Restore the file, or export it anew."):
        if kind == "parquet":
            yield from _of_parquet(path, take)
        elif kind == "jsonl":
            yield from _of_json(path, take)
        else:
            yield from _of_cells(path, take)


_Broken = tuple[int, str, str, str]
"""Line, category, reason and text of a line that is no document."""
_Block = tuple[list[T], list[_Broken]]


def _of_parquet(path: Path, take: Callable[[int, Mapping[str, Any]], T]) -> Iterator[_Block[T]]:
    line = 1
    for batch in parquet_batches(path):
        yield [take(n, one) for n, one in enumerate(batch.iter_rows(named=True), line)], []
        line += len(batch)


def _of_cells(path: Path, take: Callable[[int, Mapping[str, Any]], T]) -> Iterator[_Block[T]]:
    names = header_of(path)
    roles = {f"cell {name}": name for name in names}
    for block in read_rows(path, roles):
        wrong = block.filter(pl.col("category").is_not_null())
        rows = block.filter(pl.col("category").is_null())
        cells = zip(rows["line"], rows.select(*roles).iter_rows(), strict=True)
        taken = [
            take(line, {name: cell for name, cell in zip(names, row, strict=True) if cell})
            for line, row in cells
        ]
        yield taken, wrong.select("line", "category", "problem", "raw").rows()


def _of_json(path: Path, take: Callable[[int, Mapping[str, Any]], T]) -> Iterator[_Block[T]]:
    encoding = written_as(path).encoding
    blocks = decoded_lines(path, encoding, Place())
    for first, lines, wrong in blocks:
        if first == 1 and lines[0].strip() == "{":
            rest = (line for _, more, _ in blocks for line in more)
            text = "\n".join(inputs.bounded(chain(lines, rest), str(path)))
            yield [take(1, one) for one in _of_object(path, text)], []
            return
        taken, broken = [], []
        for line, text in enumerate(lines, first):
            one = _object(text) if line - first not in wrong else None
            category = wrong.get(line - first, "json")
            if one is not None and one.keys() not in _ACTIONS:
                taken.append(take(line, one.get(_WRAPPED, one)))
            elif one is None and text.strip():
                problem = PROBLEMS[category].format(encoding=encoding)
                broken.append((line, category, problem, text[:200]))
        yield taken, broken


def _of_object(path: Path, text: str) -> list[dict[str, Any]]:
    """Return the object of a file that is one over many lines, or the hits of a response."""
    one = _object(text)
    if one is None:
        raise BadInput(f"{path}: it is no JSON object. Restore the file, or export it anew.")
    hits = _inner(one, "hits").get("hits")
    objects = hits if isinstance(hits, list) else [one]
    return [each.get(_WRAPPED, each) for each in objects if isinstance(each, dict)]
