"""A made-up collection of any size (`sample.zipf`): its documents and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ssi_core import collection
from ssi_core.resources import require
from ssi_core.sample.zipf import PART, pieces_of, title_of, world_of

if TYPE_CHECKING:
    from ssi_core.sample.sources import Zipf
    from ssi_core.store import Building
    from ssi_core.types import Progress

_BASE, _OF_A_DOCUMENT, _DISK_OF_A_DOCUMENT = 100_000_000, 30_000, 1200
"""Bounds of what 3,000 to 100,000 documents took; the documents of one part are held."""


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
