"""Fields and addresses of documents, packed one by one, so that each is read by itself.

- ``packed.npy``: bytes of all documents, memory mapped: what results show of each and, where that
  is not all of it, the rest
- ``starts.npy``: where those of each document begin, and where the last ends
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl

from ssi_core import files
from ssi_core.arrays import ArraySpec, check_arrays, load_array
from ssi_core.tasks.reading import fields_in, with_redirects
from ssi_core.text import fields
from ssi_core.types import BadInput
from ssi_core.views.csr_writer import GrowingArray

LONGEST = 20_000
"""Characters that results show of a text, and of any other field."""
_LEVEL, _ROWS = 1, 1024
_MOST = 32 << 20
"""Bytes of a document; its address is no longer than a line that is read."""


class Passage(NamedTuple):
    """Address of a document, None where nobody knows it, and its fields (`ssi_core.text.fields`).

    The title is that which the document was given, and those of redirects to it, a line each.
    ``rest`` is the end of the text, which no result shows, of a document that is held in memory.
    """

    url: str | None
    text: str
    title: str = ""
    headings: str = ""
    anchors: str = ""
    rest: str = ""

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


class SupportsRows(Protocol):
    """Fields and addresses of documents, by their rows."""

    def __getitem__(self, row: int, /) -> Passage:
        """Return those of a row."""
        ...


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
        """Return what results show of a document: fields that are cut, each name once."""
        return self._read(row)[0]

    def whole(self, row: int) -> dict[str, str]:
        """Return all fields of a document as models read them."""
        shown, packed = self._read(row)
        if not packed:
            return shown.fields
        rest = fields.split(self._unpacked(row, packed)[0])
        return {**shown.fields, **rest, fields.TEXT: shown.text + rest["text"]} | {
            fields.URL: shown.fields[fields.URL]
        }

    def _read(self, row: int) -> tuple[Passage, bytes]:
        packed = self._packed[self._starts[row] : self._starts[row + 1]]
        raw, rest = self._unpacked(row, packed.tobytes())
        url, _, document = raw.partition("\n")
        texts = fields.split(document)
        shown = (texts[name] for name in ("text", "title", "headings", "anchors"))
        return Passage(url or None, *shown), rest

    def _unpacked(self, row: int, packed: bytes) -> tuple[str, bytes]:
        """Return a text, and what is packed behind it."""
        unpacking = zlib.decompressobj()
        try:
            raw = unpacking.decompress(packed, _MOST).decode()
            if not unpacking.eof:
                raise zlib.error("it is cut off, or unpacks to more than it may")
        except (zlib.error, UnicodeDecodeError):
            raise BadInput(
                f"{self._directory}: the text of row {row} is damaged. {files.MAKE_AGAIN}"
            ) from None
        return raw, unpacking.unused_data


def whole_fields(passages: SupportsRows, row: int) -> dict[str, str]:
    """Return all fields of a document, on disk or in memory, as models read them."""
    if isinstance(passages, Passages):
        return passages.whole(row)
    shown = passages[row]
    return {**shown.fields, fields.TEXT: shown.text + shown.rest}


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
    position, rows = 0, 0
    starts.append(np.zeros(1))
    for part in parts:
        frame = _read(part, None if names is None else names[rows:])
        for block in frame.iter_slices(_ROWS):
            for url, text, *short in block.iter_rows():
                shown, rest = _shown(text, *short), _document(text[LONGEST:], *short)
                data = _packed(f"{' '.join(url.split())}\n{shown}")
                if rest != _shown("", *short):
                    data += _packed(rest)
                packed.append(np.frombuffer(data, np.uint8))
                position += len(data)
                starts.append(np.array([position]))
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


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode(errors="replace"), _LEVEL)


def _shown(text: str, *short: str) -> str:
    """Return a document as results show it: cut, and each line of a short field once."""
    lines = ("\n".join(dict.fromkeys(one.split("\n"))) for one in short)
    return _document(text[:LONGEST], *(one[:LONGEST] for one in lines))


def _document(text: str, title: str, headings: str, anchors: str) -> str:
    return fields.join(text=text, title=title, headings=headings, anchors=anchors)
