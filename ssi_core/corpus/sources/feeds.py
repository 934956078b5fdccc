"""A folder of feeds."""

from __future__ import annotations

from pathlib import Path

from ssi_core.corpus.source import LANGUAGE, Source, directory


class Feeds(Source):
    """Read the entries of feeds: a folder of Atom and RSS files.

    An entry is a document, with its title and description. The title of its feed and the first
    category of the feed are labels. Links of a description that name the address of another entry
    are links. No address is fetched; a file that declares entities is left
    out, and counted.
    """

    examples = ("ssi data ingest feeds my-feeds/ --out corpus",)
    reader = "ssi_core.corpus.feeds:ingest_feeds"

    paths: tuple[Path, ...] = directory("Folder of Atom and RSS files (.xml, .atom, .rss)")
    language: str | None = LANGUAGE
