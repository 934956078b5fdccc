"""Judged queries in the formats of TREC."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from pydantic import Field

from ssi_core.corpus.source import LANGUAGE, Place, Source, files, option

if TYPE_CHECKING:
    from ssi_core.store import Artefact


class Trec(Source):
    """Read a collection of TREC: documents in SGML, topics, judgements."""

    examples = ("ssi ingest trec docs/*.gz --topics topics.txt --qrels qrels.txt --out corpus",)

    paths: tuple[Path, ...] = files("DOCUMENTS", "Files of documents")
    topics: Path = Field(description="Topics, or lines: number, tab, query")
    qrels: Path = Field(description="Query, iteration, document, grade")
    fields: tuple[Literal["title", "desc", "narr"], ...] = option(
        ("title",), "Fields of a topic that make its query; may be repeated", "--field"
    )
    language: str | None = LANGUAGE

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.trec import ingest_trec

        return ingest_trec(
            self.paths, self.topics, self.qrels, fields=self.fields, language=self.language, **place
        )
