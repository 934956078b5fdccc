"""A made-up collection of any size (`world`): its documents and links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from pydantic import Field

from benchmarks.zipf.world import PART, pieces_of, title_of, world_of
from ssi_core import collection
from ssi_core.corpus.source import SEED, Source
from ssi_core.resources import require
from ssi_core.store import Building
from ssi_core.types import Progress

_BASE, _OF_A_DOCUMENT, _DISK_OF_A_DOCUMENT = 100_000_000, 30_000, 1200
"""Bounds of what 3,000 to 100,000 documents took; the documents of one part are held."""


class Zipf(Source):
    """Make a collection of any size, whose words and links are drawn by laws.

    It shows what time, memory and disk a collection of your size takes. The texts say nothing:
    words follow Zipf's law; lengths, links and their power law are those of an encyclopedia. With
    1,800,000 documents it has the size of the corpus of Bai et al. (2010), and is made in minutes.
    """

    examples = ("ssi data ingest zipf --size 100000 --out corpus",)
    origin = "zipf"
    builder = "benchmarks.zipf.collection:build"

    documents: int = Field(
        default=10_000,
        ge=2,
        le=100_000_000,
        description="Number of documents to make",
        json_schema_extra={"flag": "--size"},
    )
    seed: int = SEED

    def identity(self) -> Mapping[str, Any]:
        """Return the settings, all of which change what is written."""
        return {"source": self.origin, **self.model_dump()}


def build(building: Building, source: Zipf, progress: Progress | None) -> None:
    """Write the documents and the links of a collection, a part of each at a time.

    `ssi_core.types.Refused` where it does not fit.
    """
    world = world_of(source.documents, source.seed)
    documents = source.documents
    require(
        "the collection",
        memory=_BASE + _OF_A_DOCUMENT * min(documents, PART),
        directory=building.path.parent,
        disk=_DISK_OF_A_DOCUMENT * documents,
    )
    with (
        collection.text_writer(building.path) as texts,
        collection.relation_writer(building.path, collection.LINK) as links,
    ):
        for piece in pieces_of(world):
            numbers = range(piece.first, piece.first + len(piece.texts))
            frame = pl.DataFrame(
                {
                    "id": [str(number) for number in numbers],
                    "title": [title_of(number) for number in numbers],
                    "language": ["en"] * len(piece.texts),
                    "text": piece.texts,
                }
            )
            texts.write(collection.timeless(frame))
            sources = np.repeat(np.asarray(numbers), np.diff(piece.starts))
            ends = {"source": sources, "target": piece.targets}
            links.write(pl.DataFrame(ends).cast(pl.String))
            if progress is not None:
                done = piece.first + len(piece.texts)
                progress(done / documents, f"{done:,} of {documents:,} documents")
    building.counts.update(documents=texts.rows, links=links.rows)
