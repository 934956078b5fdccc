"""Rows of a table in an SQL dump, as mysqldump and MariaDB write it, streamed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ssi_core.corpus.inputs import read_blocks
from ssi_core.types import BadInput

_LARGEST_ROW = 1 << 20
_VALUE = rb"((?:_binary )?'(?:[^'\\]++|\\.|'')*'|[^\s,()']++)"
_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_SPECIAL = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"}

Row = tuple[bytes, ...]


def read_rows(path: Path, table: str, columns: int) -> Iterator[tuple[Row, float]]:
    """Yield the rows of a table, values as they are written, and the share of the file read.

    Statements ``INSERT INTO `table` VALUES (...),(...);`` may have any number of rows, on one line
    or on many; other statements are passed over.

    Raises
    ------
    BadInput
        The file is damaged, ends within a statement, a row has another number of columns, or no
        statement inserts into the table.
    """
    name = re.escape(table.encode())
    start = re.compile(
        rb"^INSERT (?:IGNORE )?INTO `?" + name + rb"`?\s*(?:\([^()]*\)\s*)?VALUES", re.MULTILINE
    )
    row = re.compile(rb"\s*\(" + rb"\s*,\s*".join([_VALUE] * columns) + rb"\)\s*([,;])", re.DOTALL)
    buffer, before, inside, rows, share = b"", 0, False, 0, 0.0
    for block, share in read_blocks(path):
        buffer += block
        position, moved = 0, True
        while moved:
            match = (row.match if inside else start.search)(buffer, position)
            moved = match is not None
            if match is None:
                continue
            position = match.end()
            if inside:
                rows += 1
                yield match.groups()[:-1], share
                inside = match[columns + 1] == b","
            else:
                inside = True
        if inside and len(buffer) - position > _LARGEST_ROW:
            raise _no_row(path, table, columns, rows, before + position)
        if not inside:
            # The next statement may begin in what is left of the last line.
            position = max(position, buffer.rfind(b"\n"))
        before += position
        buffer = buffer[position:]
    if inside:
        raise _no_row(path, table, columns, rows, before)
    if not rows:
        raise BadInput(
            f"{path}: no statement inserts into the table {table!r}. Give the dump of that table "
            f"(*-{table}.sql.gz)."
        )


def _no_row(path: Path, table: str, columns: int, rows: int, offset: int) -> BadInput:
    return BadInput(
        f"{path}: no row of {columns} columns follows row {rows} of {table!r}, at byte {offset} of "
        "the decompressed text. The file is cut off or of another kind; download it again."
    )


def text_of(value: bytes) -> bytes:
    r"""Return the bytes that a quoted value stands for.

    >>> text_of(rb"'L\'eau ''vive'' \\ \n'")
    b"L'eau 'vive' \\ \n"
    """
    value = value.removeprefix(b"_binary ")
    if not value.startswith(b"'"):
        return value
    inner = value[1:-1]
    if b"\\" not in inner and b"'" not in inner:
        return inner
    return _ESCAPE.sub(lambda m: b"'" if m[1] is None else _SPECIAL.get(m[1], m[1]), inner)
