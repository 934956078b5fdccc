"""Own documents in tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from ssi_core.corpus.source import LANGUAGE, Tabular, files, option


class Table(Tabular):
    """Read your own documents: JSON lines, CSV, TSV or parquet.

    Files may be packed (.gz, .bz2, .xz, .zst). A row is a document. Columns are known by their
    names: id, title, text, url, language, timestamp, links (and docno, body, content, ...); what
    was guessed is said. A document without an id is known by its URL, or by its line.

    A link is a row of --links with two ends (source and target, from and to, or two columns), or
    an entry of the column links: a JSON list, or names with | between them. Ends are ids, else
    URLs, else titles. The words of a link (a column anchor, text, ... of --links) are an anchor,
    which can be a query: --relevant anchor.

    With --since the collection is the same, and made sooner: JSON lines that did not change are
    not parsed. CSV, TSV and parquet are read whole, as fast as they could be compared.
    """

    examples = (
        "ssi data ingest table articles.jsonl --links links.csv --out corpus",
        "ssi data ingest table part-*.parquet --column text=body --label category",
        "ssi data ingest table articles.jsonl --links links.tsv --column anchor=label --out corpus",
        "ssi data ingest table tuesday.jsonl --since corpus --out corpus-2",
    )
    origin = "table"
    builder = "ssi_core.corpus.tables.documents:build"

    paths: tuple[Path, ...] = files("DOCUMENTS", "Tables of documents")
    links: tuple[Path, ...] = Field(default=(), description="Table of links. Can be repeated")
    labels: tuple[str, ...] = option(
        (), "Column by whose values measures are sliced. Can be repeated", "--label"
    )
    language: str | None = LANGUAGE
    since: Path | None = Field(
        default=None,
        description="Collection of an earlier state. Only JSON lines that changed are parsed",
    )

    def inputs(self) -> Sequence[Path]:
        """Return the tables of documents and of links."""
        return (*self.paths, *self.links)

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {
            "source": self.origin,
            "documents": [path.name for path in self.paths],
            "links": [path.name for path in self.links],
            "columns": self.columns,
            **self.written,
            "labels": sorted(self.labels),
            "language": self.language,
        }

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a path has the name of a table."""
        from ssi_core.corpus.tables.form import kind_of

        return bool(kind_of(path)) and not path.is_dir()

    @classmethod
    def roles(cls) -> Collection[str]:
        """Return the roles of columns of documents and of links."""
        from ssi_core.corpus.tables.roles import ANCHOR, DOCUMENTS, ENDS

        return (*DOCUMENTS, *ENDS, *ANCHOR)
