"""Names of the columns of a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

from ssi_core.corpus import inputs
from ssi_core.corpus.clicks.columns import LogForm
from ssi_core.corpus.tables.json_rows import is_array, read_array
from ssi_core.corpus.tables.parquet import parquet_columns
from ssi_core.corpus.tables.reader import kind_of
from ssi_core.types import BadInput

_BEGINNING = 100  # objects whose keys are looked at


def header_of(path: Path) -> list[str]:
    """Return the names of the columns of a table, or the keys of its first objects."""
    kind = kind_of(path, LogForm())
    inputs.require_file(path)
    if not kind:
        raise BadInput(
            f"{path}: its name does not say what it is. Name it .jsonl, .csv, .tsv or .parquet."
        )
    if kind == "parquet":
        return parquet_columns(path)
    names = _keys(path) if kind == "jsonl" else _header(path, "\t" if kind == "tsv" else ",")
    if not names:
        raise BadInput(f"{path}: the file is empty. Give a table with a row.")
    return names


def _header(path: Path, separator: str) -> list[str]:
    with inputs.open_input(path) as file:
        start = file.read(inputs.LARGEST_LINE).decode("utf-8-sig", errors="replace")
    try:
        return next(csv.reader(io.StringIO(start, newline=""), delimiter=separator), [])
    except csv.Error as error:
        raise BadInput(f"{path}: line 1: {error}. {inputs.RESTORE}") from None


def _keys(path: Path) -> list[str]:
    names: dict[str, None] = {}
    any_line = False
    for value in read_array(path, "utf-8")[:_BEGINNING] if is_array(path) else _objects(path):
        any_line = True
        names |= dict.fromkeys(value if isinstance(value, dict) else ())
    if any_line and not names:
        raise BadInput(f"{path}: its first lines are no JSON objects. Write one on each line.")
    return list(names)


def _objects(path: Path) -> Iterator[object]:
    """Yield what the first lines say."""
    left = inputs.LARGEST_LINE
    with inputs.open_input(path) as file:
        for _ in range(_BEGINNING):
            line = file.readline(left)
            left -= len(line)
            if not line or not left:
                return
            yield object_of(line.decode("utf-8-sig", errors="replace"))


def object_of(line: str) -> object:
    """Return what a line of JSON says; None where it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
