"""Published data sets, a file each; the registries find them as they find guests."""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "ssi_core.datasets"

REGISTRIES: Mapping[str, Mapping[str, str]] = {
    "sources": {
        "wikispeedia": f"{_HERE}.sources:Wikispeedia",
        "collection": f"{_HERE}.sources:Smart",
        "wikispeedia-clicks": f"{_HERE}.sources:WikispeediaClicks",
        "farm-ads": f"{_HERE}.sources:FarmAds",
        "kyoto": f"{_HERE}.sources:Kyoto",
        "wikiqa": f"{_HERE}.sources:WikiQa",
        "zzquerylog": f"{_HERE}.sources:ZzQueryLog",
    }
}
"""Registry -> name in it -> ``"module:object"``."""
