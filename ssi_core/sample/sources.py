"""Sources that are made up: the sample encyclopedia, a query log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ssi_core.corpus.source import PROCESSES, SEED, Source
from ssi_core.corpus.sources import source_named
from ssi_core.datasets.wikipedia.mates import Mates
from ssi_core.datasets.wikipedia.source import Wikipedia

if TYPE_CHECKING:
    from ssi_core.store import Artefact
    from ssi_core.types import Progress


def _number(default: int, least: int, most: int, description: str, flag: str | None = None) -> Any:
    extra: Any = {"flag": flag} if flag else None
    return Field(
        default=default, ge=least, le=most, description=description, json_schema_extra=extra
    )


class Sample(Source):
    """Make the sample encyclopedia, and read its English edition."""

    examples = ("ssi data ingest sample --size 500 --seed 3 --out corpus",)

    documents: int = _number(2000, 20, 1_000_000, "Number of pages of the sample", "--size")
    seed: int = SEED
    processes: int | None = PROCESSES

    def _directory(self, progress: Progress | None) -> Path:
        from ssi_core.sample.encyclopedia import make_sample

        return make_sample(self.documents, self.seed, progress=progress).path

    def _edition(self, dump: str, progress: Progress | None) -> Wikipedia:
        paths = (self._directory(progress) / dump,)
        return Wikipedia(paths=paths, processes=self.processes)

    def fetched(self, progress: Progress | None = None) -> Source:
        """Return the source of the dump that was made."""
        from ssi_core.sample.encyclopedia import ENGLISH_DUMP

        return self._edition(ENGLISH_DUMP, progress)

    def read(
        self, out: Path | None = None, *, force: bool = False, progress: Progress | None = None
    ) -> Artefact:
        """Make the collection, as `Source.read` says."""
        return self.fetched(progress).read(out, force=force, progress=progress)


class SampleMates(Sample):
    """Make the sample encyclopedia, read both editions, and find their translations."""

    flow = "ingest-mates"
    examples = ("ssi data ingest sample-mates --size 500 --seed 3 --out mates",)

    def fetched(self, progress: Progress | None = None) -> Source:
        """Return the source of the links between the two collections that were made."""
        from ssi_core.sample.encyclopedia import DICTIONARY, ENGLISH_DUMP, JAPANESE_DUMP, LANGLINKS

        queries, documents = (
            self._edition(dump, progress).read(progress=progress).path
            for dump in (JAPANESE_DUMP, ENGLISH_DUMP)
        )
        path = self._directory(progress)
        return Mates(
            langlinks=path / LANGLINKS,
            corpora=(queries, documents),
            dictionary=path / DICTIONARY,
            processes=self.processes,
        )


class SampleClicks(Sample):
    """Make the sample encyclopedia, read its English edition, and the clicks on its pages."""

    flow = "ingest-clicks"
    examples = ("ssi data ingest sample-clicks --size 500 --seed 3 --out clicks",)

    def fetched(self, progress: Progress | None = None) -> Source:
        """Return the source of the log that was made."""
        from ssi_core.sample.encyclopedia import CLICKS, CLICKS_MAP, ENGLISH_DUMP

        pages = self._edition(ENGLISH_DUMP, progress).read(progress=progress).path
        path = self._directory(progress)
        log = {"paths": (path / CLICKS,), "map": path / CLICKS_MAP, "queries": pages}
        return source_named("clicks")(**log)


class SampleQueryLog(Source):
    """Make a query log whose truth is known, at any size.

    A topic has 20 concepts, and a concept four words of titles and four of queries. --gap is the
    share of concepts that a query says in words that no title has: with 0 the words of titles say
    it all, with 1 a model must learn from the clicks which words mean the same. Topics, concepts
    and words are drawn by Zipf's law.

    A search engine that knows the truth roughly shows ten titles; how often position k is looked at
    is 1 / k, and a title that is looked at is clicked by its grade. A pair is kept where it was
    clicked in more than a tenth of its expected looks: about two pairs a query.

    Judged queries have 15 titles each, graded 0 to 4 by what both are about. These titles are a
    fifth of all, and never clicked; clicks for a query that is judged are left out, and counted
    (pair_of_judged_query).
    """

    flow = "ingest-clicks"
    origin = "sample-query-log"
    builder = "ssi_core.sample.made_log:build"
    examples = (
        "ssi data ingest sample-query-log --size 50000 --gap 0.5 --seed 3 --out log",
        "ssi data ingest sample-query-log --titles 200000 --size 500000 --topic-count 99 --out log",
    )

    titles: int = _number(20_000, 100, 50_000_000, "Number of titles in the log")
    queries: int = _number(
        50_000,
        100,
        50_000_000,
        "Number of queries that lead to clicks; some are equal",
        "--size",
    )
    judged: int = _number(
        500, 10, 100_000, "Number of judged queries; some are equal", "--judged-count"
    )
    topics: int = _number(50, 1, 10_000, "Number of topics of 20 concepts each", "--topic-count")
    gap: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of the concepts that queries express in other words",
    )
    seed: int = SEED

    def identity(self) -> Mapping[str, Any]:
        """Return the settings, all of which change what is written."""
        return {"source": self.origin, **self.model_dump()}
