"""A folder of pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ssi_core.corpus.source import LANGUAGE, Source, directory

if TYPE_CHECKING:
    from ssi_core.types import Progress


class Folder(Source):
    """Read a folder of pages: Markdown, HTML, plain text.

    The path of a page is its id. Its title is that of the front matter, else its first heading.
    Links are the hrefs that lead to another page of the folder, and [[wiki links]] in Markdown.
    Navigation, headers, footers and scripts of HTML are left out.

    With --since the collection is the same, and made sooner: pages whose bytes and file name did
    not change, even if they are in another folder now, are not parsed; links are settled anew.
    """

    examples = (
        "ssi data ingest folder site/ --out corpus",
        "ssi data ingest folder site/ --since corpus --out corpus-2",
    )
    origin = "folder"
    builder = "ssi_core.corpus.web.folder:build"

    paths: tuple[Path, ...] = directory("Folder of the pages")
    language: str | None = LANGUAGE
    since: Path | None = Field(
        default=None,
        description="Collection of an earlier state. Only pages that changed are parsed",
    )

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a path is a directory."""
        return path.is_dir()

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {"source": self.origin, "language": self.language}

    def parents(self, out: Path | None = None, progress: Progress | None = None) -> dict[str, str]:
        """Return the digest of the pages."""
        from ssi_core.corpus.tree import digest_tree
        from ssi_core.corpus.web.folder import pages_in

        (directory,) = self.paths
        return {"pages": digest_tree(directory, pages_in(directory, Counter()), out)}
