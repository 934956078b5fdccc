"""The sample encyclopedia: its English edition, both with their translations, or its clicks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ssi_core.corpus.source import PAGES, PROCESSES, SEED, Place, Source
from ssi_core.corpus.sources.clicks import Clicks
from ssi_core.corpus.sources.mates import Mates
from ssi_core.corpus.sources.wikipedia import Wikipedia

if TYPE_CHECKING:
    from ssi_core.store import Artefact
    from ssi_core.types import Progress


class Sample(Source):
    """Make the sample encyclopedia, and read its English edition."""

    examples = ("ssi ingest sample --documents 500 --seed 3 --out corpus",)

    documents: int = PAGES
    seed: int = SEED
    processes: int | None = PROCESSES

    def _directory(self, progress: Progress | None) -> Path:
        from ssi_core.sample import make_sample

        return make_sample(self.documents, self.seed, progress=progress).path

    def _edition(self, dump: str, progress: Progress | None) -> Wikipedia:
        paths = (self._directory(progress) / dump,)
        return Wikipedia(paths=paths, processes=self.processes)

    def fetched(self, progress: Progress | None = None) -> Source:
        """Return the source of the dump that was made."""
        from ssi_core.sample import ENGLISH_DUMP

        return self._edition(ENGLISH_DUMP, progress)

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        return self.fetched(place.get("progress")).read(**place)


class SampleMates(Sample):
    """Make the sample encyclopedia, read both editions, and find their translations."""

    flow = "ingest-mates"
    examples = ("ssi ingest sample-mates --documents 500 --seed 3 --out mates",)

    def fetched(self, progress: Progress | None = None) -> Source:
        """Return the source of the links between the two collections that were made."""
        from ssi_core.sample import DICTIONARY, ENGLISH_DUMP, JAPANESE_DUMP, LANGLINKS

        queries, documents = (
            self._edition(dump, progress).read(progress=progress).path
            for dump in (JAPANESE_DUMP, ENGLISH_DUMP)
        )
        place = self._directory(progress)
        return Mates(
            langlinks=place / LANGLINKS,
            corpora=(queries, documents),
            dictionary=place / DICTIONARY,
            processes=self.processes,
        )


class SampleClicks(Sample):
    """Make the sample encyclopedia, read its English edition, and the clicks on its pages."""

    flow = "ingest-clicks"
    examples = ("ssi ingest sample-clicks --documents 500 --seed 3 --out clicks",)

    def fetched(self, progress: Progress | None = None) -> Source:
        """Return the source of the log that was made."""
        from ssi_core.sample import CLICKS, CLICKS_MAP, ENGLISH_DUMP

        pages = self._edition(ENGLISH_DUMP, progress).read(progress=progress).path
        place = self._directory(progress)
        return Clicks(paths=(place / CLICKS,), columns=place / CLICKS_MAP, queries=pages)
