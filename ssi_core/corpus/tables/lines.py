"""Lines of a table, decoded block by block, and what is said of those that are no rows."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from ssi_core.corpus.inputs import LARGEST_LINE, open_input
from ssi_core.corpus.tables.form import UTF_8, UTF_16
from ssi_core.types import BadInput

BLOCK_BYTES = 1 << 23
"""Bytes of text that are worked on at a time."""
_KEPT_OF_LINE = 200
"""Bytes that are kept of a line that is longer than `LARGEST_LINE`, which is counted as no row."""

PROBLEMS = {
    "encoding": "bytes that are no {encoding}; if the whole table is of another encoding, say so: "
    '--encoding cp1252 (in a map, under [log]: encoding = "cp1252"), else repair it',
    "length": f"more than {LARGEST_LINE >> 20} MiB in a line",
    "fields": "{found} fields, the header has {wanted}",
    "quote": "a quote that does not close",
    "json": "no JSON object",
}
"""Problems of a line: category -> what is said of it."""


@dataclass(frozen=True)
class Place:
    """Position in a table where reading begins: bytes and whole lines before it."""

    bytes: int = 0
    lines: int = 0


def decoded_lines(
    path: Path, encoding: str, after: Place
) -> Iterator[tuple[int, list[str], dict[int, str]]]:
    """Yield the number of the first line, lines, and problems of those (by place) that are none.

    A line that can't be decoded or is longer than `LARGEST_LINE` is none.
    """
    with open_input(path) as raw:
        file = raw
        if encoding == UTF_16:
            file, encoding = io.BufferedReader(_Utf8(raw, encoding)), UTF_8
        if after.bytes:
            file.seek(after.bytes)
        number = after.lines + 1
        for block, long in _whole_lines(file):
            lines, wrong = _decoded(block, encoding, number == 1)
            yield number, lines, wrong | dict.fromkeys(long, "length")
            number += len(lines)
        if number == 1:
            raise BadInput(f"{path}: it is empty. Give a table with a row.")


def _whole_lines(file: BinaryIO) -> Iterator[tuple[bytes, Sequence[int]]]:
    """Yield blocks of whole lines, with the places of those that are cut for their length."""
    rest, dropped = b"", 0
    while block := file.read(BLOCK_BYTES):
        rest += block
        end = rest.rfind(b"\n") + 1
        if not end and dropped + len(rest) > LARGEST_LINE:
            dropped += len(rest) - _KEPT_OF_LINE
            rest = rest[:_KEPT_OF_LINE]
        elif end:
            first = rest.index(b"\n")
            long = dropped + first > LARGEST_LINE
            yield _cut(rest, first) + rest[first:end] if long else rest[:end], [0] if long else []
            rest, dropped = rest[end:], 0
    if rest:
        long = dropped + len(rest) > LARGEST_LINE
        yield _cut(rest, len(rest)) if long else rest, [0] if long else []


def _cut(line: bytes, end: int) -> bytes:
    """Return the beginning of a line, without the quotes that would join others to it."""
    return line[: min(end, _KEPT_OF_LINE)].replace(b'"', b"'") + b"..."


class _Utf8(io.RawIOBase):
    """A stream of another encoding in UTF-8; what is no letter of it is U+FFFD."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream, self._ready = stream, b""
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and (block := self._stream.read(BLOCK_BYTES)):
            self._ready = self._decoder.decode(block).encode()
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n


def _decoded(block: bytes, encoding: str, first: bool) -> tuple[list[str], dict[int, str]]:
    wrong: dict[int, str] = {}
    try:
        text = block.decode(encoding)
        lines = text.split("\n")
    except UnicodeDecodeError:
        rows = block.split(b"\n")
        lines = []
        for position, row in enumerate(rows):
            try:
                lines.append(row.decode(encoding))
            except UnicodeDecodeError:
                lines.append(row.decode(encoding, errors="replace"))
                wrong[position] = "encoding"
    if lines[-1] == "":
        lines.pop()
    if first and lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in lines], wrong


def with_problems(
    frame: pl.DataFrame, first: int, wrong: dict[int, str], columns: Iterable[str], encoding: str
) -> pl.DataFrame:
    """Mark the lines that are wrong by themselves, by their places, and leave out empty ones."""
    if wrong:
        positions = pl.DataFrame(
            {"line": [first + position for position in wrong], "known": list(wrong.values())},
            schema={"line": pl.Int64, "known": pl.String},
        )
        problems = {name: PROBLEMS[name].format(encoding=encoding) for name in wrong.values()}
        frame = frame.join(positions, on="line", how="left", maintain_order="left").with_columns(
            pl.coalesce("known", "category").alias("category"),
            pl.when(pl.col("known").is_not_null())
            .then(pl.col("known").replace(problems))
            .otherwise("problem")
            .alias("problem"),
        )
    kept = frame.select(row_schema(columns).keys())
    # An empty line is no row.
    return kept.filter(pl.col("raw").str.strip_chars() != "")


def row_schema(columns: Iterable[str]) -> dict[str, Any]:
    """Schema of what `reader.read_rows` yields."""
    schema = {"line": pl.Int64, "category": pl.String, "problem": pl.String, "raw": pl.String}
    return schema | {name: pl.String for name in columns}
