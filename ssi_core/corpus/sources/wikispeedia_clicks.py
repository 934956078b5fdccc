"""Wikispeedia: the clicks of its players."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ssi_core.corpus.source import Place, Source, directory

if TYPE_CHECKING:
    from ssi_core.store import Artefact


class WikispeediaClicks(Source):
    """Read the clicks of Wikispeedia's players, and the articles that they clicked in."""

    flow = "ingest-clicks"
    examples = ("ssi ingest wikispeedia-clicks wikispeedia_paths-and-graph --out clicks",)

    paths: tuple[Path, ...] = directory("Directory of the data set")

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.clicks.wikispeedia import ingest_wikispeedia_clicks

        return ingest_wikispeedia_clicks(self.paths[0], **place)
