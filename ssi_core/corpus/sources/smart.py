"""Test collections in the format of SMART."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ssi_core.corpus.source import Place, Source, directory

if TYPE_CHECKING:
    from ssi_core.store import Artefact


class Smart(Source):
    """Read Cranfield, CISI or CACM: documents, queries and judgements in SMART's format."""

    examples = ("ssi ingest collection cranfield/ --out corpus",)

    paths: tuple[Path, ...] = directory("Directory of Cranfield, CISI or CACM")

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.collections import ingest_collection

        return ingest_collection(self.paths[0], **place)
