"""Data that is made up: an encyclopedia, query logs, and a shop."""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "ssi_core.sample"

REGISTRIES: Mapping[str, Mapping[str, str]] = {
    "sources": {
        "sample": f"{_HERE}.sources:Sample",
        "sample-mates": f"{_HERE}.sources:SampleMates",
        "sample-clicks": f"{_HERE}.sources:SampleClicks",
        "sample-query-log": f"{_HERE}.sources:SampleQueryLog",
    },
    "verbs": {"data.sample": f"{_HERE}.commands:sample"},
    "names": {"read_sample": f"{_HERE}.face:read_sample"},
}
"""Registry -> name in it -> ``"module:object"``."""
