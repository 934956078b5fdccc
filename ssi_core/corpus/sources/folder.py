"""A folder of pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ssi_core.corpus.source import LANGUAGE, Place, Source, directory

if TYPE_CHECKING:
    from ssi_core.store import Artefact


class Folder(Source):
    """Read a folder of pages: Markdown, HTML, plain text.

    The path of a page is its id. Its title is that of the front matter, else its first heading.
    Links are the hrefs that lead to another page of the folder, and [[wiki links]] in Markdown.
    Navigation, headers, footers and scripts of HTML are left out.
    """

    examples = ("ssi ingest folder site/ --out corpus",)

    paths: tuple[Path, ...] = directory("Folder of the pages")
    language: str | None = LANGUAGE

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.folder import ingest_folder

        return ingest_folder(self.paths[0], language=self.language, **place)
