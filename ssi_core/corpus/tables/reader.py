"""The one reader of tables: CSV, TSV, JSON lines or parquet, plain or packed, in blocks of text.

A row that is not one (too few fields, a quote that never closes, bytes of another encoding, no
JSON) comes with its problem, and the rows after it are read as if nothing had been.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.corpus import inputs
from ssi_core.corpus.tables.form import GUESSED, TableForm, Written, written_as
from ssi_core.corpus.tables.json_rows import is_array, read_array, read_json
from ssi_core.corpus.tables.lines import Place, decoded_lines, row_schema
from ssi_core.corpus.tables.parquet import parquet_batches, parquet_columns
from ssi_core.corpus.tables.separated import check_header, read_separated
from ssi_core.types import BadInput

_DAMAGED = "Restore the file, or give one that can be read to its end."
_BEGINNING = 100  # objects whose keys are looked at


def read_rows(
    path: Path, roles: Mapping[str, str], form: TableForm = GUESSED, after: Place | None = None
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
            yield from read_json(path, roles, written, form.each, after or Place())
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


def header_of(path: Path, form: TableForm = GUESSED) -> list[str]:
    """Return the names of the columns of a table, or the keys of its first objects."""
    written = written_as(path, form)
    if written.kind == "parquet":
        return parquet_columns(path)
    names = _keys(path, written, form) if written.kind == "jsonl" else _header(path, written)
    if not names:
        raise BadInput(f"{path}: the file is empty. Give a table with a row.")
    return names if form.header else [str(place) for place in range(1, len(names) + 1)]


def _header(path: Path, written: Written) -> list[str]:
    with inputs.open_input(path) as file:
        start = file.read(inputs.LARGEST_LINE).decode(written.encoding, errors="replace")
    start = start.removeprefix("\ufeff")
    try:
        return next(csv.reader(io.StringIO(start, newline=""), delimiter=written.separator), [])
    except csv.Error as error:
        raise BadInput(f"{path}: line 1: {error}. {inputs.RESTORE}") from None


def _keys(path: Path, written: Written, form: TableForm) -> list[str]:
    names: dict[str, None] = {}
    any_line = False
    if is_array(path, written.encoding):
        values = read_array(path, written.encoding)[:_BEGINNING]
    else:
        _, lines, _ = next(decoded_lines(path, written.encoding, Place()))
        values = [object_of(line) for line in lines[:_BEGINNING]]
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
    """Return a column as text; the values of a list have ``|`` between them."""
    column = pl.col(name)
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
