"""Published data sets, a file or a package each; registries find them as they find guests."""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "ssi_core.datasets"

REGISTRIES: Mapping[str, Mapping[str, str]] = {
    "sources": {
        "wikipedia": f"{_HERE}.wikipedia.source:Wikipedia",
        "mates": f"{_HERE}.wikipedia.mates:Mates",
        "anchors": f"{_HERE}.wikipedia.anchor_log:Anchors",
        "wikispeedia": f"{_HERE}.sources:Wikispeedia",
        "collection": f"{_HERE}.sources:Smart",
        "wikispeedia-clicks": f"{_HERE}.sources:WikispeediaClicks",
        "farm-ads": f"{_HERE}.sources:FarmAds",
        "kyoto": f"{_HERE}.sources:Kyoto",
        "wikiqa": f"{_HERE}.sources:WikiQa",
        "zzquerylog": f"{_HERE}.sources:ZzQueryLog",
        "dbpedia-entity": f"{_HERE}.sources:DbpediaEntity",
        "ir-datasets": f"{_HERE}.irds:IrDatasets",
    }
}
"""Registry -> name in it -> ``"module:object"``."""
