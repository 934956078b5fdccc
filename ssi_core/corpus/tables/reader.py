"""The one reader of tables: CSV, TSV, JSON lines or parquet, plain or packed, in blocks of text.

A row that is not one (too few fields, a quote that never closes, bytes of another encoding, no
JSON) comes with its problem, and the rows after it are read as if nothing had been.
"""

from __future__ import annotations

import csv
import io
import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from ssi_core import files
from ssi_core.corpus import inputs
from ssi_core.corpus.inputs import LARGEST_LINE
from ssi_core.corpus.tables.form import GUESSED, TableForm, Written, written_as
from ssi_core.corpus.tables.json_rows import is_array, read_array, read_json
from ssi_core.corpus.tables.lines import PROBLEMS, Place, decoded_lines, row_schema, with_problems
from ssi_core.corpus.tables.parquet import parquet_batches, parquet_columns
from ssi_core.strict import instead
from ssi_core.types import BadInput

_DAMAGED = "Restore the file, or give one that can be read to its end."
_BEGINNING = 10_000  # objects whose keys are looked at
EVERY = sys.maxsize
"""Number of objects of `header_of`: all."""


def read_rows(
    path: Path,
    roles: Mapping[str, str],
    form: TableForm = GUESSED,
    after: Place | None = None,
    keys: set[str] | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table in blocks.

    Parameters
    ----------
    path : Path
        ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` are unpacked on the way.
    roles : mapping
        Name of a column of the result -> that of the column in the table.
    form : TableForm
        How the table is written, as far as it is declared.
    after : Place or None
        Where to begin, of plain text; by default at the beginning.
    keys : set of str, optional
        Takes the keys of all objects of JSON.

    Yields
    ------
    frame of ``line`` (int64, from 1; of parquet the row), ``category`` and ``problem`` (str, null
    where the line is a row), ``raw`` (str) and the roles, all of them str or null

    Raises
    ------
    BadInput
        The file is missing, damaged, of no known format, empty, or lacks a column.
    """
    written = written_as(path, form)
    with files.reading(path, _DAMAGED):
        if written.kind == "parquet":
            yield from _parquet(path, roles)
        elif written.kind == "jsonl":
            yield from read_json(path, roles, written, form.each, after or Place(), keys)
        else:
            yield from read_separated(path, roles, written, form.header, after or Place())


def whole_rows(
    path: Path, roles: Mapping[str, str], form: TableForm = GUESSED
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table; `BadInput` names the first line that is no row."""
    for block in read_rows(path, roles, form):
        wrong = block.filter(pl.col("category").is_not_null())
        if len(wrong):
            line, problem = wrong.select("line", "problem").row(0)
            raise BadInput(f"{path}: line {line}: {problem}. Repair or remove the line.")
        yield block


def header_of(path: Path, form: TableForm = GUESSED, objects: int | None = None) -> list[str]:
    """Return the names of the columns of a table, or the keys of its first objects."""
    written = written_as(path, form)
    if written.kind == "parquet":
        return parquet_columns(path)
    names = (
        _keys(path, written, form, objects or _BEGINNING)
        if written.kind == "jsonl"
        else _header(path, written)
    )
    if not names:
        raise BadInput(f"{path}: it is empty. Give a table with a row.")
    return names if form.header else [str(position) for position in range(1, len(names) + 1)]


def _header(path: Path, written: Written) -> list[str]:
    with inputs.open_input(path) as file:
        start = file.read(inputs.LARGEST_LINE).decode(written.encoding, errors="replace")
    lines = io.StringIO(start.removeprefix("\ufeff"), newline="")
    for _ in range(written.begin):
        lines.readline()
    try:
        return next(csv.reader(lines, delimiter=written.separator), [])
    except csv.Error as error:
        raise BadInput(f"{path}: line 1: {error}. {inputs.RESTORE}") from None


def _keys(path: Path, written: Written, form: TableForm, objects: int) -> list[str]:
    names: dict[str, None] = {}
    any_line = False
    values: Iterable[object]
    if is_array(path, written.encoding):
        values = read_array(path, written.encoding)[:objects]
    else:
        lines = (
            line for _, block, _ in decoded_lines(path, written.encoding, Place()) for line in block
        )
        values = map(object_of, islice(lines, objects))
    for value in values:
        any_line = True
        inner = value.get(form.each) if form.each and isinstance(value, dict) else None
        for one in (value, *(inner if isinstance(inner, list) else ())):
            names |= dict.fromkeys(one if isinstance(one, dict) else ())
    if any_line and not names:
        raise BadInput(f"{path}: its first lines are no JSON objects. Write one on each line.")
    names.pop(form.each, None)
    return list(names)


def object_of(line: str) -> object:
    """Return what a line of JSON says; None where it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _text(name: str, kind: pl.DataType) -> pl.Expr:
    """Return a column as text; the values of a list have ``|`` between them.

    Whole numbers have no point: pandas makes floats of the ids in a column that lacks one.
    """
    column = pl.col(name)
    if kind.is_float():
        whole = column.cast(pl.Int64, strict=False)
        return pl.coalesce(
            pl.when(whole == column).then(whole).cast(pl.String), column.cast(pl.String)
        )
    if isinstance(kind, pl.List):
        return column.cast(pl.List(pl.String)).list.join("|")
    return column.cast(pl.String)


def _parquet(path: Path, roles: Mapping[str, str]) -> Iterator[pl.DataFrame]:
    columns = list(dict.fromkeys(roles.values()))
    check_header(path, parquet_columns(path), columns)
    first = 1
    for batch in parquet_batches(path, columns):
        nothing = pl.lit(None, pl.String)
        texts = batch.select(_text(name, batch.schema[name]) for name in columns)
        yield texts.select(
            line=pl.int_range(first, first + len(batch), dtype=pl.Int64),
            category=nothing,
            problem=nothing,
            raw=pl.concat_str(pl.all().fill_null(""), separator="\t"),
            **{role: pl.col(name) for role, name in roles.items()},
        ).select(row_schema(roles).keys())
        first += len(batch)


_JOINED = 100  # lines that a quoted field may run over


class _Shape(NamedTuple):
    """Fields of the lines of a file: their names, and those that are wanted."""

    header: Sequence[str]
    roles: Mapping[str, str]
    written: Written

    @property
    def indices(self) -> list[int]:
        """Places of the columns among the fields."""
        return [self.header.index(name) for name in self.roles.values()]


def read_separated(
    path: Path, roles: Mapping[str, str], written: Written, header: bool, after: Place
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a CSV or TSV file in blocks, as `reader.read_rows` does."""
    shape: _Shape | None = None
    if after.bytes:
        _, first_lines, _ = next(decoded_lines(path, written.encoding, Place()))
        shape = _shape(path, first_lines[written.begin], roles, written, header)
    carried: list[str] = []
    known: dict[int, str] = {}
    number, lines = 1, carried
    for number, lines, wrong in decoded_lines(path, written.encoding, after):
        if shape is None:
            if len(lines) <= written.begin:
                raise BadInput(f"{path}: it is empty. Give a table with a row.")
            shape = _shape(path, lines[written.begin], roles, written, header)
            first_row = written.begin + header
            lines, number = lines[first_row:], number + first_row
            wrong = {position - first_row: problem for position, problem in wrong.items()}
        first, lines = number - len(carried), carried + lines
        wrong = known | {position + len(carried): problem for position, problem in wrong.items()}
        carried, known = [], {}
        if written.separator == "\t" or not any('"' in line for line in lines):
            yield _split(first, lines, wrong, shape)
            continue
        block, carried = _parsed(first, lines, wrong, shape)
        begin = len(lines) - len(carried)
        known = {offset - begin: problem for offset, problem in wrong.items() if offset >= begin}
        number = first
        yield block
    if carried and shape is not None:
        first = number + len(lines) - len(carried)
        yield _parsed(first, carried, known, shape, last=True)[0]


def _shape(
    path: Path, line: str, roles: Mapping[str, str], written: Written, header: bool
) -> _Shape:
    names = _fields(line, written.separator) or []
    if "\r" in line.strip("\r"):
        raise BadInput(
            f"{path}: its lines end with a carriage return alone. Convert them: "
            f"tr '\\r' '\\n' < {shlex.quote(str(path))} > converted.csv"
        )
    if not header:
        names = [str(position) for position in range(1, len(names) + 1)]
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
    """Split lines that have no quote; a line with another number of fields is a problem."""
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
                pl.col("parts").list.get(index, null_on_oob=True).alias(name)
                for name, index in zip(shape.roles, shape.indices, strict=True)
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
    wanted, indices = len(shape.header), shape.indices
    rows: list[tuple[Any, ...]] = []
    position = 0
    while position < len(lines):
        raw, taken = lines[position], 1
        while _may_go_on(raw, taken) and position + taken < len(lines):
            raw, taken = f"{raw}\n{lines[position + taken]}", taken + 1
        if _may_go_on(raw, taken) and not last:
            break
        for more in range(1, taken):
            if position + more in wrong:
                wrong[position] = wrong[position + more]
        values = _fields(raw, shape.written.separator)
        if values is None or (taken > 1 and len(values) != wanted):
            # What stands after a lost quote is no part of this row.
            raw, taken = lines[position], 1
            fault = ("quote", PROBLEMS["quote"])
            rows.append((first + position, *fault, raw, *[None] * len(indices)))
        elif len(values) != wanted:
            problem = PROBLEMS["fields"].format(found=len(values), wanted=wanted)
            rows.append((first + position, "fields", problem, raw, *[None] * len(indices)))
        else:
            rows.append((first + position, None, None, raw, *(values[i] for i in indices)))
        position += taken
    frame = pl.DataFrame(rows, schema=row_schema(shape.roles), orient="row")
    return with_problems(frame, first, wrong, shape.roles, shape.written.encoding), lines[position:]


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
