"""Judged queries in the formats of BEIR and of TREC."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ssi_core.corpus.source import LANGUAGE, Source, directory, files, option


class Beir(Source):
    """Read a collection in the format of BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv."""

    examples = ("ssi ingest beir scifact/ --out corpus",)
    reader = "ssi_core.corpus.beir:ingest_beir"

    paths: tuple[Path, ...] = directory("Directory of the three")
    language: str | None = LANGUAGE

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a directory has a corpus of BEIR."""
        return any(path.glob("corpus.jsonl*"))


class Trec(Source):
    """Read a collection of TREC: documents in SGML, topics, judgements."""

    examples = ("ssi ingest trec docs/*.gz --topics topics.txt --qrels qrels.txt --out corpus",)
    reader = "ssi_core.corpus.trec:ingest_trec"

    paths: tuple[Path, ...] = files("DOCUMENTS", "Files of documents")
    topics: Path = Field(description="Topics, or lines: number, tab, query")
    qrels: Path = Field(description="Query, iteration, document, grade")
    fields: tuple[Literal["title", "desc", "narr"], ...] = option(
        ("title",), "Fields of a topic that make its query; may be repeated", "--field"
    )
    language: str | None = LANGUAGE
