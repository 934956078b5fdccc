"""A made-up collection of any size, to see what a machine can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from pydantic import Field

from ssi_core.corpus.source import SEED, Place, Source

if TYPE_CHECKING:
    from ssi_core.store import Artefact


class Zipf(Source):
    """Make a collection of any size, whose words and links are drawn by laws.

    It shows what time, memory and disk a collection of your size takes. The texts say nothing:
    words follow Zipf's law; lengths, links and their power law are those of an encyclopedia. With
    1,800,000 documents it has the size of the corpus of Bai et al. (2010), and is made in minutes.
    """

    examples = ("ssi ingest zipf --documents 100000 --out corpus",)

    documents: int = Field(default=10_000, ge=2, le=100_000_000, description="Documents to make")
    seed: int = SEED

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.zipf import make_collection

        return make_collection(self.documents, self.seed, **place)
