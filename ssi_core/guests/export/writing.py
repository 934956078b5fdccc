"""Parts that all writers share: terms of blocks, lines of JSON, files of limited size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ssi_core import store
from ssi_core.guests.export.documents import Block, Documents
from ssi_core.guests.export.nine_bits import codes, decimals
from ssi_core.guests.export.terms import Bounds, Layout, document_terms
from ssi_core.types import Progress, TextMatrix

MOST_BYTES = 20 << 20
"""Bytes of a file of documents, so that each can be sent as one request."""


@dataclass
class Material:
    """Documents to write, with the names of their terms and their bounds.

    Attributes
    ----------
    documents : Documents
        Documents to export.
    layout : Layout
        Names and numbers of the terms.
    bounds : Bounds
        Range of the weights, outside of which they are clipped.
    progress : Progress or None
        Called with the finished share and a message.
    counts : dict
        Numbers for the manifest: terms, values outside of the bounds.
    """

    documents: Documents
    layout: Layout
    bounds: Bounds
    progress: Progress | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def blocks(self) -> Iterator[Block]:
        """Yield the documents with their vectors."""
        done = 0
        for block in self.documents.blocks():
            yield block
            done += len(block.ids)
            if self.progress is not None:
                self.progress(done / len(self.documents), f"{done:,} documents exported")

    def terms(self) -> Iterator[tuple[Block, TextMatrix]]:
        """Yield the documents with their terms, all of which weigh more than nothing."""
        self.counts |= {"terms": 0, "clipped": 0, "clipped_documents": 0}
        for block in self.blocks():
            terms, clipped = document_terms(block.vectors, self.layout, self.bounds)
            self.counts["terms"] += terms.nnz
            self.counts["clipped"] += int(clipped.sum())
            self.counts["clipped_documents"] += int(np.count_nonzero(clipped))
            yield block, terms


def json_rows(terms: TextMatrix, names: list[str]) -> Iterator[str]:
    """Yield the terms of each document as a JSON object, with weights of nine bits."""
    keys, digits = [f"{json.dumps(name, ensure_ascii=False)}:" for name in names], decimals()
    return _objects(terms, keys, [digits[code] for code in codes(terms.data).tolist()])


def _objects(terms: TextMatrix, keys: list[str], digits: list[str]) -> Iterator[str]:
    columns, ends = terms.indices.tolist(), terms.indptr.tolist()
    entries = [keys[column] + number for column, number in zip(columns, digits, strict=True)]
    for begin, end in pairwise(ends):
        yield f"{{{','.join(entries[begin:end])}}}"


def text(value: Any) -> str:
    """Return a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write_lines(
    directory: Path, suffix: str, entries: Iterable[str], most: int = MOST_BYTES
) -> int:
    """Write entries, each of whole lines, to numbered files of ``most`` bytes; return their sum."""
    directory.mkdir()
    held: list[str] = []
    size = total = number = 0

    def flush() -> None:
        nonlocal held, size, number
        number += 1
        path = directory / f"{number:05d}.{suffix}"
        path.write_text("".join(held), encoding="utf-8", newline="\n")
        held, size = [], 0

    for entry in entries:
        length = len(entry.encode())
        if held and size + length > most:
            flush()
        held.append(entry)
        size, total = size + length, total + length
    flush()
    return total


def seal_files(directory: Path) -> None:
    """Write ``SHA256SUMS``, which the program beside a directory and ``sha256sum -c`` compare."""
    names = sorted(path.name for path in directory.iterdir())
    sums = [f"{store.digest_file(directory / name)}  {name}\n" for name in names]
    (directory / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def program(name: str, path: Path) -> None:
    """Copy a program of this package that runs by itself."""
    source = files("ssi_core.guests.export").joinpath(name).read_text(encoding="utf-8")
    path.write_text(source, encoding="utf-8")


@dataclass(frozen=True)
class Target:
    """An engine, or a format, that documents are written for.

    Attributes
    ----------
    bodies : mapping
        "query", and perhaps "rescore": a search of the engine, in whose places the encoder puts
        what belongs there (`encoder.Encoder.query`).
    write : callable
        Writes the documents of a `Material` into a directory, and what else the engine needs.
    first : callable
        Writes what only a first export has: mappings, schemas, programs.
    limit : int or None
        Bytes of the longest id of a document.
    """

    bodies: Mapping[str, Any]
    write: Callable[[Path, Material], None]
    first: Callable[[Path, Layout], None] = lambda path, layout: None
    limit: int | None = None
