"""Blocks of rows of a click log, as text: CSV, TSV, JSON lines or parquet, plain or compressed.

A row that is not one (too few fields, a quote that never closes, bytes of another encoding, no
JSON) comes with its problem, and the rows after it are read as if nothing had been.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from ssi_core import files
from ssi_core.corpus.clicks.columns import FORMATS, LogForm, instead
from ssi_core.types import BadInput

BLOCK_BYTES = 1 << 23
"""Bytes of text that are worked on at a time."""
_ROWS = 100_000
_UNPACKED = 8  # bytes of text of a byte of a packed file
_JOINED = 100  # lines that a quoted field may run over

_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_FORMATS = {".csv": "csv", ".tsv": "tsv", ".txt": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
            ".json": "jsonl", ".parquet": "parquet"}  # fmt: skip
_DAMAGED = "Restore the file, or give one that can be read to its end."

PROBLEMS = {
    "encoding": "bytes that are no {encoding}; if the whole log is of another encoding, say so "
    'in the map ([log] encoding = "cp1252"), else repair the line',
    "fields": "{found} fields, the header has {wanted}",
    "quote": "a quote that does not close",
    "json": "no JSON object",
}
"""Problems of a line: category -> what is said of it."""


def read_log(path: Path, columns: Sequence[str], form: LogForm) -> Iterator[pl.DataFrame]:
    """Yield the rows of a log in blocks.

    Parameters
    ----------
    path : ``.gz``, ``.bz2`` and ``.xz`` are unpacked on the way
    columns : names of the columns that are wanted
    form : how the log is written

    Yields
    ------
    frame of ``line`` (int64, from 1; of parquet the row), ``category`` and ``problem`` (str, null
    where the line is a row), ``raw`` (str) and the columns, all of them str or null

    Raises
    ------
    BadInput
        The file is missing, damaged, of no known format, empty, or lacks a column.
    """
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file. Check the path.")
    if path.suffix == ".zst":
        raise BadInput(f"{path}: zstd is not read. Unpack it first: zstd -d {path.name}")
    kind = form.format or _FORMATS.get(_stem(path).suffix.lower(), "")
    if not kind:
        raise BadInput(
            f"{path}: its name does not say what it is. Say so in the map ([log] format = one of "
            f"{', '.join(FORMATS)})."
        )
    if kind == "parquet":
        yield from _parquet(path, columns)
        return
    read = _json_lines if kind == "jsonl" else _separated
    separator = "\t" if kind == "tsv" else form.separator
    with files.reading(path, _DAMAGED):
        yield from read(path, columns, form, separator)


def text_bytes(paths: Sequence[Path]) -> int:
    """Bytes of text in some files, roughly, before they are read."""
    packed = (*_OPEN, ".parquet")
    return sum(path.stat().st_size * (_UNPACKED if path.suffix in packed else 1) for path in paths)


def _stem(path: Path) -> Path:
    return path.with_suffix("") if path.suffix in _OPEN else path


# --- lines ---


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, list[str], dict[int, str]]]:
    """Yield the number of the first line, lines, and those (by place) that are not decoded."""
    opened: BinaryIO = _OPEN.get(path.suffix, open)(path, "rb")
    with opened as file:
        number, rest = 1, b""
        while block := file.read(BLOCK_BYTES):
            block = rest + block
            end = block.rfind(b"\n") + 1
            block, rest = block[:end], block[end:]
            if block:
                lines, wrong = _decoded(block, path, encoding, number == 1)
                yield number, lines, wrong
                number += len(lines)
        if rest:
            yield number, *_decoded(rest, path, encoding, number == 1)
        elif number == 1:
            raise BadInput(f"{path}: the file is empty. Give a log with a row.")


def _decoded(
    block: bytes, path: Path, encoding: str, first: bool
) -> tuple[list[str], dict[int, str]]:
    if first and block.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8":
        raise BadInput(
            f"{path}: the log is in UTF-16, which is not read. Convert it: iconv -f utf-16 "
            f"-t utf-8 {path.name}"
        )
    wrong: dict[int, str] = {}
    try:
        text = block.decode(encoding)
        lines = text.split("\n")
    except UnicodeDecodeError:
        rows = block.split(b"\n")
        lines = []
        for place, row in enumerate(rows):
            try:
                lines.append(row.decode(encoding))
            except UnicodeDecodeError:
                lines.append(row.decode(encoding, errors="replace"))
                wrong[place] = "encoding"
    if lines[-1] == "":
        lines.pop()
    if first and lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in lines], wrong


# --- CSV and TSV ---


def _separated(
    path: Path, columns: Sequence[str], form: LogForm, separator: str
) -> Iterator[pl.DataFrame]:
    header: list[str] | None = None
    carried: list[str] = []
    known: dict[int, str] = {}
    number, lines = 1, carried
    for number, lines, wrong in _lines(path, form.encoding):
        if header is None:
            header = _fields(lines[0], separator) or []
            if not form.header:
                header = [str(place) for place in range(1, len(header) + 1)]
            _check_header(path, header, columns)
            if form.header:
                lines, number = lines[1:], number + 1
                wrong = {place - 1: problem for place, problem in wrong.items()}
        first, lines = number - len(carried), carried + lines
        wrong = known | {place + len(carried): problem for place, problem in wrong.items()}
        carried, known = [], {}
        if separator == "\t" or not any('"' in line for line in lines):
            yield _split(first, lines, wrong, header, columns, separator, form)
            continue
        block, carried = _parsed(first, lines, wrong, header, columns, separator, form)
        begin = len(lines) - len(carried)
        known = {place - begin: problem for place, problem in wrong.items() if place >= begin}
        number = first
        yield block
    if carried and header is not None:
        first = number + len(lines) - len(carried)
        yield _parsed(first, carried, known, header, columns, separator, form, last=True)[0]


def _check_header(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    for column in columns:
        if column not in header:
            raise BadInput(f"{path}: line 1 has no column {instead(column, header)}")
        if header.count(column) > 1:
            raise BadInput(f"{path}: line 1 names {column!r} twice. Rename one of the columns.")


def _split(
    first: int,
    lines: list[str],
    wrong: dict[int, str],
    header: Sequence[str],
    columns: Sequence[str],
    separator: str,
    form: LogForm,
) -> pl.DataFrame:
    """Rows of lines without a quote."""
    frame = pl.DataFrame({"raw": lines}, schema={"raw": pl.String})
    frame = frame.with_columns(
        line=pl.int_range(first, first + len(lines), dtype=pl.Int64),
        parts=pl.col("raw").str.split(separator),
    )
    found = pl.col("parts").list.len()
    said = PROBLEMS["fields"].replace("{wanted}", str(len(header))).split("{found}")
    bad = found != len(header)
    return _with_problems(
        frame.with_columns(
            pl.when(bad).then(pl.lit("fields")).alias("category"),
            pl.when(bad).then(pl.format(f"{said[0]}{{}}{said[1]}", found)).alias("problem"),
            *[
                pl.col("parts").list.get(header.index(name), null_on_oob=True).alias(name)
                for name in columns
            ],
        ).drop("parts"),
        first,
        wrong,
        columns,
        form,
    )


def _parsed(
    first: int,
    lines: list[str],
    wrong: dict[int, str],
    header: Sequence[str],
    columns: Sequence[str],
    separator: str,
    form: LogForm,
    *,
    last: bool = False,
) -> tuple[pl.DataFrame, list[str]]:
    """Rows of lines with quotes, and the lines at the end that more may belong to."""
    wanted = [header.index(name) for name in columns]
    rows: list[tuple[Any, ...]] = []
    place = 0
    while place < len(lines):
        raw, taken = lines[place], 1
        while raw.count('"') % 2 and taken < _JOINED and place + taken < len(lines):
            raw, taken = f"{raw}\n{lines[place + taken]}", taken + 1
        if raw.count('"') % 2 and taken < _JOINED and not last:
            break
        if any(place + more in wrong for more in range(1, taken)):
            wrong[place] = "encoding"
        values = _fields(raw, separator)
        if values is None or (taken > 1 and len(values) != len(header)):
            # What stands after a lost quote is no part of this row.
            raw, taken = lines[place], 1
            said = ("quote", PROBLEMS["quote"])
            rows.append((first + place, *said, raw, *[None] * len(columns)))
        elif len(values) != len(header):
            problem = PROBLEMS["fields"].format(found=len(values), wanted=len(header))
            rows.append((first + place, "fields", problem, raw, *[None] * len(columns)))
        else:
            rows.append((first + place, None, None, raw, *(values[i] for i in wanted)))
        place += taken
    frame = pl.DataFrame(rows, schema=_schema(columns), orient="row")
    return _with_problems(frame, first, wrong, columns, form), lines[place:]


def _fields(line: str, separator: str) -> list[str] | None:
    """Fields of one record; None where a quote does not close."""
    if separator == "\t" or '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader(io.StringIO(line), delimiter=separator, strict=True))
    except (csv.Error, StopIteration):
        return None


def _with_problems(
    frame: pl.DataFrame,
    first: int,
    wrong: dict[int, str],
    columns: Sequence[str],
    form: LogForm,
) -> pl.DataFrame:
    if wrong:
        places = pl.DataFrame(
            {"line": [first + place for place in wrong], "known": list(wrong.values())},
            schema={"line": pl.Int64, "known": pl.String},
        )
        said = PROBLEMS["encoding"].format(encoding=form.encoding)
        frame = frame.join(places, on="line", how="left", maintain_order="left").with_columns(
            pl.coalesce("known", "category").alias("category"),
            pl.when(pl.col("known").is_not_null())
            .then(pl.lit(said))
            .otherwise("problem")
            .alias("problem"),
        )
    kept = frame.select(_schema(columns).keys())
    # An empty line is no row.
    return kept.filter(pl.col("raw").str.strip_chars() != "")


def _schema(columns: Sequence[str]) -> dict[str, Any]:
    own = {"line": pl.Int64, "category": pl.String, "problem": pl.String, "raw": pl.String}
    return own | {name: pl.String for name in columns}


# --- JSON lines and parquet ---


def _json_lines(
    path: Path, columns: Sequence[str], form: LogForm, separator: str
) -> Iterator[pl.DataFrame]:
    checked = False
    for number, lines, wrong in _lines(path, form.encoding):
        rows: list[tuple[Any, ...]] = []
        names: set[str] = set()
        for place, line in enumerate(lines):
            said = _object(line)
            if said is None:
                problem = ("json", PROBLEMS["json"])
                rows.append((number + place, *problem, line, *[None] * len(columns)))
            else:
                names |= said.keys()
                values = (_text(said.get(name)) for name in columns)
                rows.append((number + place, None, None, line, *values))
        if not checked:
            for column in columns:
                if column not in names:
                    raise BadInput(f"{path}: no object has the key {instead(column, names)}")
            checked = True
        frame = pl.DataFrame(rows, schema=_schema(columns), orient="row")
        yield _with_problems(frame, number, wrong, columns, form)


def _object(line: str) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    with files.reading(path, _DAMAGED):
        lazy = pl.scan_parquet(path, glob=False)
        header = lazy.collect_schema().names()
    _check_header(path, header, columns)
    first = 1
    with files.reading(path, _DAMAGED):
        batches = lazy.select(pl.col(list(columns)).cast(pl.String)).collect_batches(
            chunk_size=_ROWS, maintain_order=True
        )
        for batch in batches:
            nothing = pl.lit(None, pl.String)
            frame = batch.with_columns(
                line=pl.int_range(first, first + len(batch), dtype=pl.Int64),
                category=nothing,
                problem=nothing,
                raw=pl.concat_str(pl.all().fill_null(""), separator="\t"),
            )
            first += len(batch)
            yield frame.select(_schema(columns).keys())
