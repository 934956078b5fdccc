"""Judged queries in the format of BEIR."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ssi_core.corpus.source import LANGUAGE, Place, Source, directory

if TYPE_CHECKING:
    from ssi_core.store import Artefact


class Beir(Source):
    """Read a collection in the format of BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv."""

    examples = ("ssi ingest beir scifact/ --out corpus",)

    paths: tuple[Path, ...] = directory("Directory of the three")
    language: str | None = LANGUAGE

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.beir import ingest_beir

        return ingest_beir(self.paths[0], language=self.language, **place)
