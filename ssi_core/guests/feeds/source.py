"""A folder of feeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssi_core.corpus.source import LANGUAGE, Source, directory

if TYPE_CHECKING:
    from ssi_core.types import Progress


class Feeds(Source):
    """Read the entries of feeds: a folder of Atom and RSS files.

    An entry is a document, with its title and description. The title of its feed and the first
    category of the feed are labels. Links of a description that name the address of another entry
    are links. No address is fetched; a file that declares entities is left
    out, and counted.
    """

    examples = ("ssi data ingest feeds my-feeds/ --out corpus",)
    origin = "feeds"
    builder = "ssi_core.guests.feeds.reading:build"

    paths: tuple[Path, ...] = directory("Folder of Atom and RSS files (.xml, .atom, .rss)")
    language: str | None = LANGUAGE

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {"source": self.origin, "language": self.language}

    def parents(self, out: Path | None = None, progress: Progress | None = None) -> dict[str, str]:
        """Return the digest of the feeds."""
        from ssi_core.corpus.tree import digest_tree
        from ssi_core.guests.feeds.reading import feeds_in

        (directory,) = self.paths
        return {"feeds": digest_tree(directory, feeds_in(directory, Counter()), out)}
