"""Names of the columns of a table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.corpus.clicks.columns import LogForm
from ssi_core.corpus.clicks.lines import OPENERS
from ssi_core.corpus.clicks.log import kind_of
from ssi_core.types import BadInput

_BEGINNING = 100  # objects whose keys are looked at


def header_of(path: Path) -> list[str]:
    """Return the names of the columns of a table, or the keys of its first objects."""
    kind = kind_of(path, LogForm())
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file. Check the path.")
    if not kind:
        raise BadInput(
            f"{path}: its name does not say what it is. Name it .jsonl, .csv, .tsv or .parquet."
        )
    with files.reading(path, "Restore the file."):
        if kind == "parquet":
            return pl.scan_parquet(path, glob=False).collect_schema().names()
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
            if kind == "jsonl":
                return _keys(path, text)
            separator = "\t" if kind == "tsv" else ","
            header = next(csv.reader(text, delimiter=separator), [])
    if not header:
        raise BadInput(f"{path}: the file is empty. Give a table with a row.")
    return header


def _keys(path: Path, text: io.TextIOWrapper) -> list[str]:
    names: dict[str, None] = {}
    start = text.readline()
    rest = text.read() if start.lstrip().startswith("[") else ""
    if rest:
        objects = json.loads(start + rest)[:_BEGINNING]
    else:
        lines = [start, *(line for _, line in zip(range(_BEGINNING), text, strict=False))]
        objects = [object_of(line) for line in lines]
    for one in objects:
        names |= dict.fromkeys(one if isinstance(one, dict) else ())
    if not start:
        raise BadInput(f"{path}: the file is empty. Give a table with a row.")
    if not names:
        raise BadInput(f"{path}: its first lines are no JSON objects. Write one on each line.")
    return list(names)


def object_of(line: str) -> object:
    """Return what a line of JSON says; None where it is none."""
    try:
        return json.loads(line)
    except ValueError:
        return None
