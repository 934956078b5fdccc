"""Blocks of rows of a click log, as text: CSV, TSV, JSON lines or parquet, plain or compressed.

A row that is not one (too few fields, a quote that never closes, bytes of another encoding, no
JSON) comes with its problem, and the rows after it are read as if nothing had been.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.corpus import inputs
from ssi_core.corpus.clicks.columns import FORMATS, LogForm
from ssi_core.corpus.clicks.json_rows import read_json
from ssi_core.corpus.clicks.lines import Place, row_schema
from ssi_core.corpus.clicks.separated import check_header, read_separated
from ssi_core.corpus.parquet import parquet_batches, parquet_columns
from ssi_core.types import BadInput

PACKED = (*inputs.PACKINGS, ".parquet")
"""Endings of files that are not plain text."""
_UNPACKED = 8  # bytes of text of a byte of a packed file
_FORMATS = {".csv": "csv", ".tsv": "tsv", ".txt": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
            ".json": "jsonl", ".parquet": "parquet"}  # fmt: skip
_DAMAGED = "Restore the file, or give one that can be read to its end."


def read_log(
    path: Path, columns: Sequence[str], form: LogForm, after: Place | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a log in blocks.

    Parameters
    ----------
    path : Path
        ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` are unpacked on the way.
    columns : sequence of str
        Names of the columns that are wanted.
    form : LogForm
        How the log is written.
    after : Place or None
        Where to begin, of plain text; by default at the beginning.

    Yields
    ------
    DataFrame
        ``line`` (int64, from 1; of parquet the row), ``category`` and ``problem`` (str, null if
        the line is a row), ``raw`` (str) and the columns, all of them str or null.

    Raises
    ------
    BadInput
        The file is missing, damaged, of no known format, empty, or lacks a column.
    """
    inputs.require_file(path)
    kind = kind_of(path, form)
    if not kind:
        raise BadInput(
            f"{path}: its name does not say what it is. Say so in the map ([log] format = one of "
            f"{', '.join(FORMATS)})."
        )
    if kind == "parquet":
        yield from _parquet(path, columns)
        return
    read = read_json if kind == "jsonl" else read_separated
    separator = "\t" if kind == "tsv" else form.separator
    with files.reading(path, _DAMAGED):
        yield from read(path, columns, form, separator, after or Place())


def text_bytes(paths: Sequence[Path]) -> int:
    """Bytes of text in some files, roughly, before they are read."""
    return sum(path.stat().st_size * (_UNPACKED if path.suffix in PACKED else 1) for path in paths)


def has_quotes(path: Path, form: LogForm) -> bool:
    """Tell whether a field of a log may be quoted, and so contain line breaks."""
    return kind_of(path, form) == "csv" and form.separator != "\t"


def kind_of(path: Path, form: LogForm) -> str:
    """Return the format of a log, as the form or else the name of the file says; "" if unknown."""
    return form.format or _FORMATS.get(_stem(path).suffix.lower(), "")


def _stem(path: Path) -> Path:
    return path.with_suffix("") if path.suffix in inputs.PACKINGS else path


def _text(name: str, kind: pl.DataType) -> pl.Expr:
    """Return a column as text; the values of a list have ``|`` between them."""
    column = pl.col(name)
    if isinstance(kind, pl.List):
        return column.cast(pl.List(pl.String)).list.join("|")
    return column.cast(pl.String)


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    check_header(path, parquet_columns(path), columns)
    first = 1
    with files.reading(path, _DAMAGED):
        for batch in parquet_batches(path, columns):
            nothing = pl.lit(None, pl.String)
            frame = batch.select(_text(name, batch.schema[name]) for name in columns).with_columns(
                line=pl.int_range(first, first + len(batch), dtype=pl.Int64),
                category=nothing,
                problem=nothing,
                raw=pl.concat_str(pl.all().fill_null(""), separator="\t"),
            )
            first += len(batch)
            yield frame.select(row_schema(columns).keys())
