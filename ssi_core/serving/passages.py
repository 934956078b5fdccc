"""Fields and addresses of documents, packed one by one, so that each is read by itself.

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
from ssi_core.tasks.reading import fields_in, with_redirects
from ssi_core.text import fields
from ssi_core.types import BadInput
from ssi_core.views.csr_writer import GrowingArray

LONGEST = 20_000
"""Characters that are kept of a text, and of any other field."""
_LEVEL, _ROWS = 1, 1024
_MOST = 32 << 20
"""Bytes of a document; its address is no longer than a line that is read."""


class Passage(NamedTuple):
    """Address of a document, None where nobody knows it, and its fields (`ssi_core.text.fields`).

    The title is that which the document was given, and those of redirects to it, a line each.
    """

    url: str | None
    text: str
    title: str = ""
    headings: str = ""
    anchors: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """Return all fields by their names."""
        return {
            fields.TEXT: self.text,
            fields.TITLE: self.title,
            fields.HEADINGS: self.headings,
            fields.URL: fields.url_words(self.url or ""),
            fields.ANCHORS: self.anchors,
        }


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
            url, _, document = _unpacked(packed.tobytes()).decode().partition("\n")
        except (zlib.error, UnicodeDecodeError):
            raise BadInput(
                f"{self._directory}: the text of row {row} is damaged. {files.MAKE_AGAIN}"
            ) from None
        of = fields.split(document)
        return Passage(url or None, of["text"], of["title"], of["headings"], of["anchors"])


def _unpacked(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    raw = unpacking.decompress(packed, _MOST)
    if not unpacking.eof:
        raise zlib.error("it is cut off, or unpacks to more than it may")
    return raw


def write_passages(
    directory: Path, parts: Sequence[Path], names: pl.DataFrame | None = None
) -> int:
    """Write the documents in some files, with addresses and fields; return how many there are.

    Parameters
    ----------
    names : DataFrame or None
        Further names of the documents, ``title`` and ``anchors``, a name a line; None: there are
        none.
    """
    directory.mkdir()
    starts = GrowingArray(directory / "starts.npy", np.int64)
    packed = GrowingArray(directory / "packed.npy", np.uint8)
    place, rows = 0, 0
    starts.append(np.zeros(1))
    for part in parts:
        frame = _read(part, None if names is None else names[rows:])
        for block in frame.iter_slices(_ROWS):
            for url, *of in block.iter_rows():
                raw = f"{' '.join(url.split())}\n{_document(*of)}".encode(errors="replace")
                data = zlib.compress(raw, _LEVEL)
                packed.append(np.frombuffer(data, np.uint8))
                place += len(data)
                starts.append(np.array([place]))
        rows += len(frame)
    starts.close()
    packed.close()
    return rows


def _read(part: Path, names: pl.DataFrame | None) -> pl.DataFrame:
    frame = files.read_strings([part], "url", "text").fill_null("")
    frame = frame.hstack(fields_in(part).select("title", "headings"))
    if names is None:
        return frame.with_columns(anchors=pl.lit(""))
    names = names[: len(frame)]
    return frame.with_columns(with_redirects(frame["title"], names["title"]), names["anchors"])


def _document(text: str, *short: str) -> str:
    title, headings, anchors = ("\n".join(dict.fromkeys(one.split("\n"))) for one in short)
    return fields.join(
        text=text[:LONGEST],
        title=title[:LONGEST],
        headings=headings[:LONGEST],
        anchors=anchors[:LONGEST],
    )
