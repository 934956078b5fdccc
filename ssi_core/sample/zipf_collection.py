"""A made-up collection of any size (`sample.zipf`): its documents and links."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import collection, store
from ssi_core.resources import require
from ssi_core.sample.zipf import PART, pieces_of, title_of, world_of
from ssi_core.sample.zipf_kernels import World
from ssi_core.store import Artefact, Building
from ssi_core.types import Progress

_BASE, _OF_A_DOCUMENT, _DISK_OF_A_DOCUMENT = 100_000_000, 30_000, 1200
"""Bounds of what 3,000 to 100,000 documents took; the documents of one part are held."""


def write_collection(building: Building, world: World, progress: Progress | None) -> None:
    """Write the documents and the links of a collection, a part of each at a time.

    `ssi_core.types.Refused` where it does not fit.
    """
    documents = int(world.documents)
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


def make_collection(
    documents: int,
    seed: int = 0,
    out: Path | None = None,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Artefact:
    """Make a collection of a size, or open it where it is.

    Parameters
    ----------
    documents : int
        Number of documents.
    seed : int
        Same seed and number, same collection.
    out : Path, optional
        Directory of the collection; by default one of the store.
    force : bool
        Replace a collection made from something else.
    progress : callable, optional
        Told the share of the documents.
    """
    make = partial(write_collection, world=world_of(documents, seed), progress=progress)
    settings = {"source": "zipf", "documents": documents, "seed": seed}
    return store.open_or_make(collection.KIND, settings, {}, make, out=out, force=force)
