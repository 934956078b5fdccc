"""Published data sets: each is a directory."""

from __future__ import annotations

from pathlib import Path

from ssi_core.corpus.source import Source, directory


class Wikispeedia(Source):
    """Read the Wikispeedia data set (4,604 articles of Wikipedia's schools edition)."""

    examples = ("ssi ingest wikispeedia wikispeedia_paths-and-graph --out corpus",)
    reader = "ssi_core.corpus.wikispeedia:ingest_wikispeedia"

    paths: tuple[Path, ...] = directory("Directory of the data set")

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a directory has the articles of Wikispeedia."""
        return (path / "articles_plaintext.tar.xz").is_file()


class WikispeediaClicks(Source):
    """Read the clicks of Wikispeedia's players, and the articles that they clicked in."""

    flow = "ingest-clicks"
    examples = ("ssi ingest wikispeedia-clicks wikispeedia_paths-and-graph --out clicks",)
    reader = "ssi_core.corpus.clicks.wikispeedia:ingest_wikispeedia_clicks"

    paths: tuple[Path, ...] = directory("Directory of the data set")


class FarmAds(Source):
    """Read Farm Ads: the words of an ad find those of the page that it leads to."""

    flow = "ingest-clicks"
    examples = ("ssi ingest farm-ads farm-ads/ --out clicks",)
    reader = "ssi_core.corpus.clicks.farm_ads:ingest_farm_ads"

    paths: tuple[Path, ...] = directory("Directory of the data set")


class Smart(Source):
    """Read Cranfield, CISI or CACM: documents, queries and judgements in SMART's format."""

    examples = ("ssi ingest collection cranfield/ --out corpus",)
    reader = "ssi_core.corpus.collections:ingest_collection"

    paths: tuple[Path, ...] = directory("Directory of Cranfield, CISI or CACM")

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a directory has the files of one of the three."""
        from ssi_core.corpus.collections import files_in

        return files_in(path) is not None
