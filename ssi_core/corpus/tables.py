"""A corpus directory: documents and links in parts of parquet, in a stated schema and order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import polars as pl

from ssi_core import files, store
from ssi_core.store import Artefact

KIND = "corpus"
DOCUMENTS: Mapping[str, pl.DataType] = {
    "id": pl.String(),
    "title": pl.String(),
    "language": pl.String(),
    "revision": pl.Int64(),
    "timestamp": pl.Datetime("us", "UTC"),
    "text": pl.String(),
}
"""Schema of ``documents/part-*.parquet``; ``text`` is plain words."""
LINKS: Mapping[str, pl.DataType] = {"source": pl.String(), "target": pl.String()}
"""Schema of ``links/part-*.parquet``: ids of documents, distinct pairs, no self links."""
LABELS: Mapping[str, pl.DataType] = {
    "id": pl.String(),
    "column": pl.String(),
    "value": pl.String(),
}
"""Schema of ``labels/part-*.parquet``, which a corpus need not have: what its source says of a
document beside the text, such as its category. A document may have several values in a column."""


@dataclass(frozen=True)
class Corpus:
    """An open corpus: nothing is read before a frame is collected.

    Attributes
    ----------
    path, artefact : the directory and its manifest
    documents : lazy frame in schema `DOCUMENTS`; the order of rows is the order in the parts
    links : lazy frame in schema `LINKS`
    """

    path: Path
    artefact: Artefact
    documents: pl.LazyFrame
    links: pl.LazyFrame


def open_corpus(path: Path) -> Corpus:
    """Open a corpus directory; `BadInput` when it is none."""
    path = Path(path)
    artefact = store.read(path, KIND)
    return Corpus(
        path,
        artefact,
        pl.scan_parquet(files.parts_in(path / "documents"), glob=False),
        pl.scan_parquet(files.parts_in(path / "links"), glob=False),
    )


class PartWriter:
    """Writes frames as ``part-00000.parquet``, ``part-00001.parquet``, ... of one schema.

    Empty frames make no part, but a table without a row has one, so that it can be read.

    >>> import tempfile
    >>> directory = Path(tempfile.mkdtemp())
    >>> with PartWriter(directory / "links", LINKS) as links:
    ...     links.write(pl.DataFrame({"source": ["1"], "target": ["2"]}))
    >>> links.rows, pl.read_parquet(directory / "links" / "*.parquet").rows()
    (1, [('1', '2')])
    """

    def __init__(self, directory: Path, schema: Mapping[str, pl.DataType]) -> None:
        self._directory, self._schema = directory, schema
        self.parts = self.rows = 0
        directory.mkdir(parents=True)

    def write(self, frame: pl.DataFrame) -> None:
        """Append a part; columns are put into the schema's order and types."""
        if frame.height:
            self._write(frame.select(pl.col(n).cast(t) for n, t in self._schema.items()))

    def link(self, part: Path, rows: int) -> None:
        """Append a finished parquet file of the right schema by giving it a second name."""
        store.link(part, self._next())
        self._count(rows)

    def _write(self, frame: pl.DataFrame) -> None:
        frame.write_parquet(self._next(), compression="zstd", compression_level=1)
        self._count(frame.height)

    def _count(self, rows: int) -> None:
        self.parts += 1
        self.rows += rows

    def _next(self) -> Path:
        return self._directory / f"part-{self.parts:05d}.parquet"

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and not self.parts:
            self._write(pl.DataFrame(schema=self._schema))


def document_writer(corpus: Path) -> PartWriter:
    """Return the writer of a corpus's documents."""
    return PartWriter(corpus / "documents", DOCUMENTS)


def link_writer(corpus: Path) -> PartWriter:
    """Return the writer of a corpus's links."""
    return PartWriter(corpus / "links", LINKS)


def label_writer(corpus: Path) -> PartWriter:
    """Return the writer of a corpus's labels."""
    return PartWriter(corpus / "labels", LABELS)
