"""Judged queries in the formats of BEIR and of TREC, and beside documents that are read."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ssi_core.corpus.source import LANGUAGE, Source, directory, files, option


class Beir(Source):
    """Read a collection in the format of BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv."""

    examples = ("ssi data ingest beir scifact/ --out corpus",)
    reader = "ssi_core.corpus.beir:ingest_beir"

    paths: tuple[Path, ...] = directory("Directory of the three")
    language: str | None = LANGUAGE

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a directory has a corpus of BEIR."""
        return any(path.glob("corpus.jsonl*"))


class Trec(Source):
    """Read a collection of TREC: documents in SGML, topics, judgements."""

    examples = (
        "ssi data ingest trec docs/*.gz --topics topics.txt --qrels qrels.txt --out corpus",
    )
    reader = "ssi_core.corpus.trec:ingest_trec"

    paths: tuple[Path, ...] = files("DOCUMENTS", "Files of documents")
    topics: Path = Field(description="Topics, or lines: number, tab, query")
    qrels: Path = Field(description="Query, iteration, document, grade")
    fields: tuple[Literal["title", "desc", "narr"], ...] = option(
        ("title",), "Fields of a topic that make its query; may be repeated", "--field"
    )
    language: str | None = LANGUAGE


class Judged(Source):
    """Add judged queries to a collection of documents, such as one of 'ssi data ingest folder'.

    Queries are a table with the columns id and text (or _id, as BEIR has it), lines of an id, a tab
    and the query, or topics of TREC. Judgements are a table with the columns query, document and
    grade (or query-id, corpus-id and score), or qrels of TREC. A judged document has its id in the
    collection, which of a folder is its path. Links are kept.
    """

    examples = (
        "ssi data ingest judged corpus --queries queries.tsv --qrels qrels.tsv --out judged",
    )
    reader = "ssi_core.corpus.judged_queries:ingest_judged"

    paths: tuple[Path, ...] = directory("Collection of 'ssi data ingest'")
    queries: Path = Field(description="Queries: id and text")
    qrels: Path = Field(description="Judgements: query, document and grade")
