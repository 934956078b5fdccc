"""Mates: documents of two languages on one subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from ssi_core.corpus.source import PROCESSES, Source, option

if TYPE_CHECKING:
    from ssi_core.types import Progress


class Mates(Source):
    """Find mates: documents of two languages on one subject.

    Queries are in the language of the first corpus, documents in that of the second. Ingest the
    two corpora first, with 'ssi data ingest wikipedia'.

    A title that is a redirect counts for the page that it leads to; each document is in one pair
    at most.
    """

    flow = "ingest-mates"
    builder = "ssi_core.datasets.wikipedia.pairing:build"
    examples = (
        "ssi data ingest mates --langlinks enwiki-langlinks.sql.gz --corpora ja en --out mates",
        "ssi data ingest mates --wikidata latest-all.json.bz2 --corpora ja en --out mates",
        "ssi data ingest mates --wikitext jawiki-pages-articles.xml.bz2 --corpora ja en --out "
        "mates",
    )

    langlinks: Path | None = Field(
        default=None, description="Language links of one of the two wikis: *-langlinks.sql(.gz)"
    )
    wikidata: Path | None = Field(default=None, description="JSON dump of Wikidata (.bz2 or .gz)")
    wikitext: Path | None = Field(
        default=None,
        description="Dump before 2013 of one of the two wikis, with links such as [[ja:...]] in "
        "its text",
    )
    corpora: tuple[Path, Path] | None = option(
        None,
        "The two collections, such as the Japanese and the English one",
        "--corpora",
        "QUERIES DOCUMENTS",
    )
    dictionary: Path | None = Field(
        default=None,
        description="Dictionary for queries: lines with a term, a tab and a translation",
    )
    processes: int | None = PROCESSES

    @property
    def _files(self) -> dict[str, Path]:
        """Files of links between languages that are given, by their kind."""
        kinds = {"langlinks": self.langlinks, "wikidata": self.wikidata, "wikitext": self.wikitext}
        return {kind: path for kind, path in kinds.items() if path is not None}

    @model_validator(mode="after")
    def _one_input(self) -> Mates:
        if len(self._files) != 1:
            raise ValueError(
                "give one of --langlinks, --wikidata, --wikitext. The articles of Kyoto are a "
                "source of their own: ssi data ingest kyoto DIRECTORY"
            )
        if self.corpora is None:
            raise ValueError("give the two corpora: --corpora QUERIES DOCUMENTS")
        return self

    @property
    def links(self) -> tuple[str, Path]:
        """The kind of the file of links between languages, and its path."""
        ((kind, path),) = self._files.items()
        return kind, path

    def inputs(self) -> Sequence[Path]:
        """Return the file of links, and the dictionary."""
        return [self.links[1], *([self.dictionary] if self.dictionary else [])]

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        from ssi_core.datasets.wikipedia.pairing import sides_of

        return {"source": self.links[0], "languages": list(sides_of(self)[1])}

    def parents(self, out: Path | None = None, progress: Progress | None = None) -> dict[str, str]:
        """Return the digests of the files, and the keys of the two collections."""
        from ssi_core.collection import SIDES
        from ssi_core.datasets.wikipedia.pairing import sides_of

        keys = {side: one.key for side, one in zip(SIDES, sides_of(self)[0], strict=True)}
        return super().parents(out, progress) | keys
