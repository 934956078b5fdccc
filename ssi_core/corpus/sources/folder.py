"""A folder of pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from pydantic import Field

from ssi_core.corpus.source import LANGUAGE, Place, Source, directory

if TYPE_CHECKING:
    from ssi_core.store import Artefact


class Folder(Source):
    """Read a folder of pages: Markdown, HTML, plain text.

    The path of a page is its id. Its title is that of the front matter, else its first heading.
    Links are the hrefs that lead to another page of the folder, and [[wiki links]] in Markdown.
    Navigation, headers, footers and scripts of HTML are left out.

    With --since the collection is the same, and made sooner: pages whose bytes and file name did
    not change, even if they are in another folder now, are not parsed; links are settled anew.
    """

    examples = (
        "ssi ingest folder site/ --out corpus",
        "ssi ingest folder site/ --since corpus --out corpus-2",
    )

    paths: tuple[Path, ...] = directory("Folder of the pages")
    language: str | None = LANGUAGE
    since: Path | None = Field(
        default=None,
        description="Collection of an earlier state: only pages that changed are parsed",
    )

    def follows(self, earlier: Artefact) -> bool:
        """Tell whether an earlier collection is of a folder."""
        return earlier.configuration.get("source") == "folder"

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.folder import ingest_folder

        return ingest_folder(self.paths[0], language=self.language, since=self.since, **place)
