"""Parquet or Arrow of a user, read in a process of its own: what is damaged can end that alone.

A few flipped bits make the reader ask for more memory than there is, which ends a process at once.
The other process gets this file as a script, and loads little but polars; it has a limit on its
memory, and what it gives is bounded in bytes.
"""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import polars as pl

from ssi_core import system

ROWS = 100_000
"""Rows of a batch at most."""
_BATCH = 64 << 20
"""Bytes of a batch, roughly."""
_HEAD = struct.Struct("<cQ")
_ARROW = b"ARROW1"  # a file of Arrow, or of Feather 2
_NAMES, _ROWS, _ERROR, _END = b"N", b"R", b"E", b"Z"


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns.

    Raises
    ------
    BadInput
        The file is missing or damaged.
    """
    with _reader(path, []) as frames:
        names: list[str] = json.loads(next(frames))
        return names


def parquet_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
    """Yield the rows in order, in batches.

    Parameters
    ----------
    columns : sequence of str, optional
        Names of the columns that are wanted; by default all.

    Raises
    ------
    BadInput
        The file is missing or damaged, lacks a column, or holds more than it may.
    """
    with _reader(path, columns) as frames:
        next(frames)
        for frame in frames:
            yield pl.read_ipc_stream(io.BytesIO(frame))


@contextmanager
def _reader(path: Path, columns: Sequence[str] | None) -> Iterator[Iterator[bytes]]:
    """Start the other process, and give what it sends."""
    from ssi_core import resources
    from ssi_core.corpus import inputs

    inputs.require_file(path)
    most = inputs.unpacked_limit(path.stat().st_size)
    task = {
        "path": str(path.absolute()),
        "columns": None if columns is None else list(columns),
        "most": most,
        "memory": resources.memory_available() // 2,
    }
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    process = subprocess.Popen(
        [sys.executable, "-P", __file__, json.dumps(task)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert process.stdout is not None
    try:
        yield _received(process, path, most)
    finally:
        process.stdout.close()
        process.kill()
        process.wait()


def _received(process: subprocess.Popen[bytes], path: Path, most: int) -> Iterator[bytes]:
    from ssi_core.corpus import inputs
    from ssi_core.types import BadInput

    pipe: IO[bytes] = process.stdout  # type: ignore[assignment]
    while len(head := pipe.read(_HEAD.size)) == _HEAD.size:
        kind, size = _HEAD.unpack(head)
        content = pipe.read(size)
        if kind == _END:
            return
        if kind == _ERROR:
            reason = json.loads(content)
            if reason is None:
                raise inputs.too_large(str(path), most, "write it as JSON lines")
            raise BadInput(f"{path}: {reason}. {inputs.RESTORE}")
        if len(content) == size:
            yield content
    code = process.wait()
    raise BadInput(
        f"{path}: it is damaged, or its rows do not fit in memory: its reader ended with code "
        f"{code}. {inputs.RESTORE}"
    )


# --- in the other process ---


def _serve(task: dict[str, Any], out: IO[bytes]) -> None:
    """Send the names of the columns, batches of rows, and the end or what was wrong."""

    def send(kind: bytes, content: bytes = b"") -> None:
        out.write(_HEAD.pack(kind, len(content)) + content)
        out.flush()

    system.lower("RLIMIT_CORE", 0)
    system.lower("RLIMIT_DATA", task["memory"])
    left = task["most"]
    try:
        with Path(task["path"]).open("rb") as file:
            scan = pl.scan_ipc if file.read(len(_ARROW)) == _ARROW else pl.scan_parquet
        lazy = scan(task["path"], glob=False)
        names = lazy.collect_schema().names()
        send(_NAMES, json.dumps(names).encode())
        columns = names if task["columns"] is None else task["columns"]
        batches = lazy.select(columns).collect_batches(chunk_size=ROWS, maintain_order=True)
        for batch in batches if columns else ():
            size = sum(map(_bytes, batch.iter_columns()))
            left -= size
            if left < 0:
                return send(_ERROR, b"null")
            for part in batch.iter_slices(max(1, len(batch) * _BATCH // max(size, _BATCH))):
                buffer = io.BytesIO()
                part.write_ipc_stream(buffer)
                send(_ROWS, buffer.getvalue())
        send(_END)
    except BaseException as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        send(_ERROR, json.dumps(lines[0].rstrip(".")[:200]).encode())


def _bytes(column: pl.Series) -> int:
    """Return the bytes of the values as text: those of a dictionary count for each row."""
    kind = column.dtype
    if kind == pl.String:
        return 16 * len(column) + int(column.str.len_bytes().cast(pl.Int64).sum())
    if kind == pl.Binary:
        return 16 * len(column) + int(column.bin.size().cast(pl.Int64).sum())
    if isinstance(kind, pl.List | pl.Array):
        return 8 * len(column) + _bytes(column.explode())
    if isinstance(kind, pl.Struct):
        return sum(map(_bytes, column.struct.unnest().iter_columns()))
    return int(column.estimated_size()) + 8 * len(column)


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]), sys.stdout.buffer)
