"""Rows of CSV and TSV; a row with a lost quote costs that row alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ssi_core.corpus.inputs import LARGEST_LINE
from ssi_core.corpus.tables.form import Written
from ssi_core.corpus.tables.lines import (
    PROBLEMS,
    Place,
    decoded_lines,
    row_schema,
    with_problems,
)
from ssi_core.strict import instead
from ssi_core.types import BadInput

_JOINED = 100  # lines that a quoted field may run over


class _Shape(NamedTuple):
    """Fields of the lines of a file: their names, and those that are wanted."""

    header: Sequence[str]
    roles: Mapping[str, str]
    written: Written

    @property
    def places(self) -> list[int]:
        """Places of the columns among the fields."""
        return [self.header.index(name) for name in self.roles.values()]


def read_separated(
    path: Path, roles: Mapping[str, str], written: Written, header: bool, after: Place
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a CSV or TSV file in blocks, as `reader.read_rows` does."""
    shape: _Shape | None = None
    if after.bytes:
        _, first_lines, _ = next(decoded_lines(path, written.encoding, Place()))
        shape = _shape(path, first_lines[0], roles, written, header)
    carried: list[str] = []
    known: dict[int, str] = {}
    number, lines = 1, carried
    for number, lines, wrong in decoded_lines(path, written.encoding, after):
        if shape is None:
            shape = _shape(path, lines[0], roles, written, header)
            if header:
                lines, number = lines[1:], number + 1
                wrong = {place - 1: problem for place, problem in wrong.items()}
        first, lines = number - len(carried), carried + lines
        wrong = known | {place + len(carried): problem for place, problem in wrong.items()}
        carried, known = [], {}
        if written.separator == "\t" or not any('"' in line for line in lines):
            yield _split(first, lines, wrong, shape)
            continue
        block, carried = _parsed(first, lines, wrong, shape)
        begin = len(lines) - len(carried)
        known = {place - begin: problem for place, problem in wrong.items() if place >= begin}
        number = first
        yield block
    if carried and shape is not None:
        first = number + len(lines) - len(carried)
        yield _parsed(first, carried, known, shape, last=True)[0]


def _shape(
    path: Path, line: str, roles: Mapping[str, str], written: Written, header: bool
) -> _Shape:
    names = _fields(line, written.separator) or []
    if not header:
        names = [str(place) for place in range(1, len(names) + 1)]
    check_header(path, names, roles.values())
    return _Shape(names, roles, written)


def check_header(path: Path, header: Sequence[str], columns: Iterable[str]) -> None:
    """Refuse a table that lacks a column, or has it twice."""
    for column in columns:
        if column not in header:
            raise BadInput(f"{path}: line 1 has no column {instead(column, header)}")
        if header.count(column) > 1:
            raise BadInput(f"{path}: line 1 names {column!r} twice. Rename one of the columns.")


def _split(first: int, lines: list[str], wrong: dict[int, str], shape: _Shape) -> pl.DataFrame:
    """Rows of lines without a quote."""
    frame = pl.DataFrame({"raw": lines}, schema={"raw": pl.String})
    frame = frame.with_columns(
        line=pl.int_range(first, first + len(lines), dtype=pl.Int64),
        parts=pl.col("raw").str.split(shape.written.separator),
    )
    fields = pl.col("parts").list.len()
    wanted = len(shape.header)
    problem = PROBLEMS["fields"].replace("{wanted}", str(wanted)).split("{found}")
    bad = fields != wanted
    return with_problems(
        frame.with_columns(
            pl.when(bad).then(pl.lit("fields")).alias("category"),
            pl.when(bad).then(pl.format(f"{problem[0]}{{}}{problem[1]}", fields)).alias("problem"),
            *[
                pl.col("parts").list.get(place, null_on_oob=True).alias(name)
                for name, place in zip(shape.roles, shape.places, strict=True)
            ],
        ).drop("parts"),
        first,
        wrong,
        shape.roles,
        shape.written.encoding,
    )


def _parsed(
    first: int, lines: list[str], wrong: dict[int, str], shape: _Shape, *, last: bool = False
) -> tuple[pl.DataFrame, list[str]]:
    """Rows of lines with quotes, and the lines at the end that more may belong to."""
    wanted, places = len(shape.header), shape.places
    rows: list[tuple[Any, ...]] = []
    place = 0
    while place < len(lines):
        raw, taken = lines[place], 1
        while _may_go_on(raw, taken) and place + taken < len(lines):
            raw, taken = f"{raw}\n{lines[place + taken]}", taken + 1
        if _may_go_on(raw, taken) and not last:
            break
        for more in range(1, taken):
            if place + more in wrong:
                wrong[place] = wrong[place + more]
        values = _fields(raw, shape.written.separator)
        if values is None or (taken > 1 and len(values) != wanted):
            # What stands after a lost quote is no part of this row.
            raw, taken = lines[place], 1
            fault = ("quote", PROBLEMS["quote"])
            rows.append((first + place, *fault, raw, *[None] * len(places)))
        elif len(values) != wanted:
            problem = PROBLEMS["fields"].format(found=len(values), wanted=wanted)
            rows.append((first + place, "fields", problem, raw, *[None] * len(places)))
        else:
            rows.append((first + place, None, None, raw, *(values[i] for i in places)))
        place += taken
    frame = pl.DataFrame(rows, schema=row_schema(shape.roles), orient="row")
    return with_problems(frame, first, wrong, shape.roles, shape.written.encoding), lines[place:]


def _may_go_on(raw: str, taken: int) -> bool:
    """Return True if a record has an open quote, and neither too many lines nor too much text."""
    return raw.count('"') % 2 == 1 and taken < _JOINED and len(raw) <= LARGEST_LINE


def _fields(line: str, separator: str) -> list[str] | None:
    """Fields of one record; None where a quote does not close."""
    if separator == "\t" or '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader(io.StringIO(line), delimiter=separator, strict=True))
    except (csv.Error, StopIteration):
        return None
