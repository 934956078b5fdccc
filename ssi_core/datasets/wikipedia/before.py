"""The corpus of an earlier dump of the same wiki, out of which unchanged pages are taken.

A page is unchanged when its bytes in the dump are: its revision id is among them, and so are its
title, namespace and redirect. Such a page passes through no parser: its words and the titles that
it links to are those of the corpus before, and what these titles lead to is settled anew. So the
result is that of a full ingestion, bit by bit.

Nothing of that corpus is held: a chunk of the new dump looks into the parts that hold pages with
ids between its smallest and its largest, which are one or two, as dumps are in the order of ids. A
dump in another order is read rightly and slowly.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ssi_core import collection, files, store
from ssi_core.corpus.earlier import REMEDY, compare, kept_by
from ssi_core.datasets.links import DOCUMENT
from ssi_core.datasets.wikipedia.readings import PAGES_SCHEMA, digest_words
from ssi_core.datasets.wikipedia.stream import END

TABLE = "pages"
_PARTS = "parts.json"
_PAGE = re.compile(rb"<page[\s>]")
_NOT_A_TAG = re.compile(rb"<[!?]")
_ID = re.compile(rb"<id>\s*(\d{1,18})\s*</id>")


@dataclass(frozen=True)
class Marks:
    """The pages of a chunk: where each ends, its id, and the digest of its bytes."""

    stops: Sequence[int]
    ids: Sequence[int]
    digests: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.stops)


def mark_pages(xml: bytes) -> Marks | None:
    """Find the pages of a chunk without parsing it; None where that may go wrong.

    Comments, CDATA and instructions could hold what looks like a page; no export has them.
    """
    if _NOT_A_TAG.search(xml):
        return None
    view = memoryview(xml)
    stops: list[int] = []
    ids: list[int] = []
    digests: list[bytes] = []
    end = 0
    for begin in _PAGE.finditer(xml):
        start, before = begin.start(), end
        end = xml.find(END, before) + len(END)
        number = _ID.search(xml, start, end)
        if not before <= start < end or number is None:
            return None
        stops.append(end)
        ids.append(int(number[1]))
        digests.append(hashlib.blake2b(view[start:end], digest_size=16).digest())
    return Marks(stops, ids, digests) if xml.find(END, end) < 0 else None


@dataclass(frozen=True)
class Taken:
    """Unchanged pages of a chunk, and the documents among them, each with its ``position``."""

    pages: pl.DataFrame
    texts: pl.DataFrame


@dataclass(frozen=True)
class Before:
    """A corpus whose pages may be taken over; see `open_before`.

    Attributes
    ----------
    path : Path
        Its directory.
    parts : sequence of tuple
        Smallest and largest id of each part of its pages (None: it has none), and the number of the
        part of its documents (None: there are none).
    """

    path: Path
    parts: Sequence[tuple[int | None, int | None, int | None]]

    def take(self, marks: Marks) -> Taken:
        """Return those pages of a chunk that the corpus holds as they are.

        A document is taken if its words are there, too: a corpus holds no text twice.

        Raises
        ------
        BadInput
            The corpus is damaged.
        """
        wanted = pl.DataFrame(
            {"position": range(len(marks)), "mark": marks.digests},
            schema={"position": pl.Int64, "mark": pl.Binary},
        )
        first, last = min(marks.ids), max(marks.ids)
        frames, texts = [_no_pages()], [_no_texts()]
        for number, (begin, end, documents) in enumerate(self.parts):
            if begin is None or end is None or last < begin or first > end:
                continue
            pages = _read(self.path, TABLE, number).unique(
                "mark", keep="first", maintain_order=True
            )
            pages = wanted.join(pages, on="mark", how="inner", maintain_order="left")
            unchanged = pages.filter(kind=DOCUMENT).select("position", "digest", id=_text_id())
            if documents is not None and unchanged.height:
                texts.append(self._texts(documents, unchanged))
            frames.append(pages.select("position", *PAGES_SCHEMA))
        known_texts = pl.concat(texts).unique("position", keep="first")
        every = pl.concat(frames).unique("position", keep="first")
        holds = (pl.col("kind") != DOCUMENT) | pl.col("position").is_in(
            known_texts["position"].implode()
        )
        return Taken(every.filter(holds), known_texts)

    def _texts(self, number: int, wanted: pl.DataFrame) -> pl.DataFrame:
        """Documents of a part whose words have the digests that are wanted."""
        rows = _read(self.path, "documents", number)
        rows = wanted.join(rows, on="id", how="inner", maintain_order="left")
        digests = pl.Series([digest_words(text) for text in rows["text"]], dtype=pl.Binary)
        return rows.filter(pl.col("digest") == digests).select("position", *collection.DOCUMENTS)


def open_before(path: Path, key: str) -> Before | str:
    """Open a corpus to take pages from, or say why none can be taken.

    Parameters
    ----------
    key : str
        Of how pages are read, see `keep_pages`.

    Raises
    ------
    BadInput
        There is no corpus of a Wikipedia, or it is damaged.
    """
    manifest = kept_by(path, "wikipedia", f"{TABLE}/{_PARTS}", key)
    if isinstance(manifest, str):
        return manifest
    with files.reading(path / TABLE / _PARTS, REMEDY):
        return Before(
            path, [(first, last, documents) for first, last, documents in manifest["parts"]]
        )


def keep_pages(corpus: Path, key: str, parts: Mapping[Path, int | None]) -> None:
    """Put what was read of all pages into a corpus, for the ingestion after it.

    Parameters
    ----------
    key : str
        Of all that decides what is read of a page: the code, and what the site says of titles.
    parts : mapping
        Tables of the chunks, in order, each with the number of its part of documents.
    """
    entries = []
    with collection.PartWriter(corpus / TABLE, PAGES_SCHEMA) as writer:
        for part, documents in parts.items():
            ids = pl.read_parquet(part, columns=["id"], glob=False)["id"]
            entries.append([ids.min(), ids.max(), documents])
            writer.link(part, len(ids))
    store.write_json(corpus / TABLE / _PARTS, {"key": key, "parts": entries})


def compare_pages(corpus: Path, before: Before) -> dict[str, int]:
    """Count the pages of a corpus by what became of them since the one before."""
    return compare(_marks(corpus), _marks(before.path), "mark")


def _marks(corpus: Path) -> pl.DataFrame:
    with files.reading(corpus / TABLE, REMEDY):
        parts = files.parts_in(corpus / TABLE)
        return pl.read_parquet(parts, columns=["id", "mark"], glob=False)


def _read(corpus: Path, table: str, number: int) -> pl.DataFrame:
    part = corpus / table / f"part-{number:05d}.parquet"
    schema = PAGES_SCHEMA if table == TABLE else collection.DOCUMENTS
    with files.reading(part, REMEDY):
        rows = pl.read_parquet(part, columns=list(schema), glob=False)
        return rows.select(pl.col(name).cast(of) for name, of in schema.items())


def _text_id() -> pl.Expr:
    return pl.col("id").cast(pl.String)


def _no_pages() -> pl.DataFrame:
    return pl.DataFrame(schema={"position": pl.Int64(), **PAGES_SCHEMA})


def _no_texts() -> pl.DataFrame:
    return pl.DataFrame(schema={"position": pl.Int64(), **collection.DOCUMENTS})
