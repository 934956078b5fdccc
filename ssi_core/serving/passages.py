"""Texts and addresses of documents, packed one by one, so that each is read by itself.

- ``packed.npy``: bytes of all documents, memory mapped
- ``starts.npy``: where those of each document begin, and where the last ends
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from ssi_core import files
from ssi_core.arrays import ArraySpec, check_arrays, load_array
from ssi_core.types import BadInput
from ssi_core.views.csr_writer import GrowingArray

LONGEST = 20_000
"""Characters that are kept of a text."""
_LEVEL, _ROWS = 1, 1024


class Passage(NamedTuple):
    """Text and address of a document; None where they are not known."""

    url: str | None
    text: str


class Passages:
    """Open texts of documents, by their rows.

    Raises
    ------
    BadInput
        The files are not those of so many documents.
    """

    def __init__(self, directory: Path, documents: int) -> None:
        self._directory = directory
        self._starts = load_array(directory / "starts.npy")
        self._packed = load_array(directory / "packed.npy")
        specs = {
            "starts": ArraySpec("int64", (documents,), offsets="bytes"),
            "packed": ArraySpec("uint8", ("bytes",)),
        }
        arrays = {"starts": self._starts, "packed": self._packed}
        check_arrays(specs, arrays, directory, files.MAKE_AGAIN)

    def __getitem__(self, row: int) -> Passage:
        packed = self._packed[self._starts[row] : self._starts[row + 1]]
        try:
            url, _, text = zlib.decompress(packed.tobytes()).decode().partition("\n")
        except (zlib.error, UnicodeDecodeError):
            raise BadInput(
                f"{self._directory}: the text of row {row} is damaged. {files.MAKE_AGAIN}"
            ) from None
        return Passage(url or None, text)


def write_passages(directory: Path, parts: Sequence[Path]) -> int:
    """Write ``url`` and ``text`` of the documents in some files; return how many there are."""
    directory.mkdir()
    starts = GrowingArray(directory / "starts.npy", np.int64)
    packed = GrowingArray(directory / "packed.npy", np.uint8)
    place, rows = 0, 0
    starts.append(np.zeros(1))
    for part in parts:
        for block in files.read_strings([part], "text", "url").iter_slices(_ROWS):
            for url, text in block.select(pl.col("url").fill_null(""), "text").iter_rows():
                raw = f"{' '.join(url.split())}\n{text[:LONGEST]}".encode(errors="replace")
                data = zlib.compress(raw, _LEVEL)
                packed.append(np.frombuffer(data, np.uint8))
                place += len(data)
                starts.append(np.array([place]))
            rows += len(block)
    starts.close()
    packed.close()
    return rows
