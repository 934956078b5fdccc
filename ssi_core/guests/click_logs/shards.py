"""Rows of a log on disk, those of one session in one shard, so that a shard is held at a time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

ROWS: Mapping[str, pl.DataType] = {
    "line": pl.Int64(),
    "session": pl.String(),
    "user": pl.String(),
    "query": pl.String(),
    "document": pl.String(),
    "position": pl.Int32(),
    "clicked": pl.Boolean(),
    "timestamp": pl.Datetime("us", "UTC"),
    "file": pl.Int32(),
    "shown": pl.Int64(),
    "clicks": pl.Int64(),
    "grade": pl.Float64(),
}
"""What is believed of a line: ``position`` 1 is the best, ``file`` is the number of the log.

A row of a pair has no position and timestamp; its session is its query. A showing has none of the
last three."""
_BYTES = 1 << 27  # of text of the log that share a shard
_HELD = 1 << 20  # held before they are written


class Shards:
    """Frames divided by a hash of their column ``session``.

    Parameters
    ----------
    directory : Path
        Made; `remove` takes it away.
    size : int
        Bytes of text that the rows come from, roughly.
    """

    def __init__(self, directory: Path, size: int) -> None:
        self._directory = directory
        self._number = 1 + size // _BYTES
        self._parts = 0
        self._held: list[pl.DataFrame] = []
        directory.mkdir()
        for shard in range(self._number):
            (directory / str(shard)).mkdir()

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._number))

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows in the schema `ROWS`."""
        self._held.append(rows.with_columns(shard=pl.col("session").hash() % self._number))
        if sum(map(len, self._held)) >= _HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        if not self._held:
            return
        rows, self._held = pl.concat(self._held), []
        for (shard,), part in rows.partition_by("shard", as_dict=True, include_key=False).items():
            part.write_parquet(self._directory / str(shard) / f"{self._parts:06d}.parquet")
        self._parts += 1

    def read(self, shard: int) -> pl.DataFrame:
        """Read all rows of a shard, in the order in which they were added."""
        parts = sorted((self._directory / str(shard)).glob("*.parquet"))
        return (
            pl.concat([pl.read_parquet(part, glob=False) for part in parts]) if parts else _NOTHING
        )

    def replace(self, shard: int, rows: pl.DataFrame) -> None:
        """Put rows in the place of a shard's, to be read by `read_whole`."""
        rows.write_parquet(self._directory / f"{shard}.parquet")
        shutil.rmtree(self._directory / str(shard))

    def read_whole(self, shard: int) -> pl.DataFrame:
        """Read what was put in the place of a shard."""
        return pl.read_parquet(self._directory / f"{shard}.parquet", glob=False)

    def remove(self) -> None:
        """Take all shards away."""
        shutil.rmtree(self._directory)


_NOTHING = pl.DataFrame(schema=dict(ROWS))
