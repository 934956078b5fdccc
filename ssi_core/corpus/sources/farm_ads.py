"""Farm Ads: ads and the pages that they lead to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ssi_core.corpus.source import Place, Source, directory

if TYPE_CHECKING:
    from ssi_core.store import Artefact


class FarmAds(Source):
    """Read Farm Ads: the words of an ad find those of the page that it leads to."""

    flow = "ingest-clicks"
    examples = ("ssi ingest farm-ads farm-ads/ --out clicks",)

    paths: tuple[Path, ...] = directory("Directory of the data set")

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.clicks.farm_ads import ingest_farm_ads

        return ingest_farm_ads(self.paths[0], **place)
