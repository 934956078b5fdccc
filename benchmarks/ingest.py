"""A dump to parquet, against plain bz2 decompression of the same file; one process each."""

from __future__ import annotations

import bz2
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.dumps import dump
from benchmarks.timing import Contestant, Row, row, speeds
from tests.sources import ingest


def decompress(path: Path) -> int:
    """Read a bz2 file to its end; returns the bytes in it."""
    with bz2.open(path) as file:
        return sum(map(len, iter(lambda: file.read(1 << 20), b"")))


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        directory = Path(name)
        kind, path = dump(directory)
        rounds = count()

        def ours() -> None:
            ingest("wikipedia", [path], directory / str(next(rounds)), processes=1)

        megabytes = decompress(path) / 1e6
        found = speeds(
            {
                "ours": Contestant(ours, megabytes),
                "bz2": Contestant(lambda: decompress(path), megabytes),
            }
        )
        yield row(
            f"dump to parquet, {kind} {megabytes:.0f} MB / bz2",
            "MB/s",
            found["ours"],
            found["bz2"],
            floor=1 / 3,
            goal=0.5,
        )
