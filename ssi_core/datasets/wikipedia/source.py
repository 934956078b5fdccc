"""Wikipedia: dumps of pages-articles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from ssi_core.corpus.source import PROCESSES, WHERE, Source, files
from ssi_core.root import home

if TYPE_CHECKING:
    from ssi_core.store import Artefact
    from ssi_core.types import Progress


class Dumps(Source):
    """Read dumps of one wiki.

    Attributes
    ----------
    part_bytes : int
        Bytes of XML that become a part, which bound the memory of a worker.
    """

    part_bytes: ClassVar[int] = 16 << 20

    paths: tuple[Path, ...] = files("DUMPS", "Dumps of one language")
    language: str | None = Field(
        default=None, description="Code of the language; empty: what the dump says"
    )
    processes: int | None = PROCESSES

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        from ssi_core.datasets.wikipedia.mediawiki import one_site

        language = one_site(self.paths, self.language).language
        return {"source": self.origin, "language": language, "part_bytes": self.part_bytes}


class Wikipedia(Dumps):
    """Read *-pages-articles*.xml(.bz2) dumps, multistream or not.

    With --since the corpus is the same, and made sooner: pages whose bytes did not change keep
    their words and links, and all links are resolved anew. A corpus that another version of ssi
    read is not used, and the counts say so.
    """

    examples = (
        "ssi data ingest wikipedia enwiki-pages-articles.xml.bz2 --out corpus",
        "ssi data ingest wikipedia --download simplewiki --out corpus",
        "ssi data ingest wikipedia enwiki-20240602-pages-articles.xml.bz2 --since corpus --out "
        "corpus-2",
    )
    origin = "wikipedia"
    builder = "ssi_core.datasets.wikipedia.mediawiki:build"

    paths: tuple[Path, ...] = files("DUMPS", "Dumps", least=0)
    download: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9_\-]+$",
        description="Wiki whose dump is downloaded first, such as simplewiki",
    )
    date: str = Field(
        default="latest",
        pattern=r"^(latest|\d{8})$",
        description="Date of the downloaded dump: YYYYMMDD or latest",
    )
    since: Path | None = Field(
        default=None,
        description="Collection of an earlier dump of the wiki. Only pages that changed are parsed",
    )
    where: str = WHERE

    @model_validator(mode="after")
    def _one_input(self) -> Wikipedia:
        if bool(self.paths) == bool(self.download):
            raise ValueError("give DUMPS, or a wiki to download, not both and not neither")
        return self

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a path has the name of a dump."""
        return path.name.endswith((".xml", ".xml.bz2")) and not path.is_dir()

    def fetched(self, progress: Progress | None = None) -> Source:
        """Return the source with the dump that was downloaded."""
        if self.download is None:
            return self
        from ssi_core.datasets.wikipedia.download import download_dump

        folder = home() / "dumps"
        dump = download_dump(self.download, folder, date=self.date, progress=progress)
        return self.model_copy(update={"paths": (dump,), "download": None})

    def read(
        self, out: Path | None = None, *, force: bool = False, progress: Progress | None = None
    ) -> Artefact:
        """Make the collection, as `Source.read` says.

        Workers of a Dask cluster must see the dumps and ``out``.
        """
        from ssi_core.parts import address_of

        source = self
        if address_of(self.where) is not None:  # workers have working directories of their own
            paths = tuple(path.absolute() for path in self.paths)
            out, since = (path and path.absolute() for path in (out, self.since))
            source = self.model_copy(update={"paths": paths, "since": since})
        return super(Wikipedia, source).read(out, force=force, progress=progress)
