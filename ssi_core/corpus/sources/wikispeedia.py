"""Wikispeedia: the articles of the data set, and their links."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ssi_core.corpus.source import Place, Source, directory

if TYPE_CHECKING:
    from ssi_core.store import Artefact


class Wikispeedia(Source):
    """Read the Wikispeedia data set (4,604 articles of Wikipedia's schools edition)."""

    examples = ("ssi ingest wikispeedia wikispeedia_paths-and-graph --out corpus",)

    paths: tuple[Path, ...] = directory("Directory of the data set")

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.wikispeedia import ingest_wikispeedia

        return ingest_wikispeedia(self.paths[0], **place)
