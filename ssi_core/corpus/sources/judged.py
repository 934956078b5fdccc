"""Judged queries in the formats of BEIR and of TREC, and beside documents that are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ssi_core.corpus.source import LANGUAGE, Source, Tabular, directory, files, option

if TYPE_CHECKING:
    from ssi_core.types import Progress


class Beir(Source):
    """Read a collection in the format of BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv."""

    examples = ("ssi data ingest beir scifact/ --out corpus",)
    origin = "beir"
    builder = "ssi_core.corpus.judged.beir:build"

    paths: tuple[Path, ...] = directory("Directory of the three")
    language: str | None = LANGUAGE

    def inputs(self) -> Sequence[Path]:
        """Return the files of the directory."""
        from ssi_core.corpus.judged.beir import files_in

        documents, queries, judged = files_in(*self.paths)
        return (documents, queries, *judged.values())

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        from ssi_core.corpus.judged.beir import files_in

        given = sorted(files_in(*self.paths)[2])
        return {"source": self.origin, "language": self.language, "given": given}

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a directory has a corpus of BEIR."""
        return any(path.glob("corpus.jsonl*"))


class Trec(Source):
    """Read a collection of TREC: documents in SGML, topics, judgements."""

    examples = (
        "ssi data ingest trec docs/*.gz --topics topics.txt --qrels qrels.txt --out corpus",
    )
    origin = "trec"
    builder = "ssi_core.corpus.judged.trec:build"

    paths: tuple[Path, ...] = files("DOCUMENTS", "Files of documents")
    topics: Path = Field(description="Topics file, or lines with a number, a tab and a query")
    qrels: Path = Field(description="Judgements: lines with query, iteration, document and grade")
    fields: tuple[Literal["title", "desc", "narr"], ...] = option(
        ("title",), "Field of a topic that is part of its query. Can be repeated", "--field"
    )
    language: str | None = LANGUAGE

    def inputs(self) -> Sequence[Path]:
        """Return documents, topics and judgements."""
        return (*self.paths, self.topics, self.qrels)

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {
            "source": self.origin,
            "documents": [path.name for path in self.paths],
            "topics": self.topics.name,
            "judgements": self.qrels.name,
            "fields": list(self.fields),
            "language": self.language,
        }


class Judged(Tabular):
    """Add judged queries to a collection of documents, such as one of 'ssi data ingest folder'.

    Queries are a table with the columns id and text (or _id, as BEIR has it), lines of an id, a tab
    and the query, or topics of TREC. Judgements are a table with the columns query, document and
    grade (or query-id, corpus-id and score), or qrels of TREC. A judged document has its id in the
    collection, which of a folder is its path. Links are kept.
    """

    examples = (
        "ssi data ingest judged corpus --queries queries.tsv --qrels qrels.tsv --out judged",
    )
    origin = "judged"
    builder = "ssi_core.corpus.judged.queries:build"

    paths: tuple[Path, ...] = directory("Collection of 'ssi data ingest'")
    queries: Path = Field(description="Table of queries, with the columns id and text")
    qrels: Path = Field(
        description="Table of judgements, with the columns query, document and grade"
    )

    @classmethod
    def roles(cls) -> Collection[str]:
        """Return the roles of columns of queries and of judgements."""
        from ssi_core.corpus.tables.roles import JUDGEMENTS, QUERIES

        return (*QUERIES, *JUDGEMENTS)

    def inputs(self) -> Sequence[Path]:
        """Return queries and judgements."""
        return (self.queries, self.qrels)

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        names = {"queries": self.queries.name, "qrels": self.qrels.name}
        columns = {"columns": self.columns} if self.columns else {}
        return {"source": self.origin, **names, **columns, **self.written}

    def parents(self, out: Path | None = None, progress: Progress | None = None) -> dict[str, str]:
        """Return the digests of the files, and the key of the documents."""
        from ssi_core.corpus.judged.queries import documents_of

        documents = documents_of(*self.paths)
        return {**super().parents(None, progress), "collection": documents.key}
