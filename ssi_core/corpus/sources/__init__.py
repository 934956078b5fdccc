"""The registry of sources: a line for each, and nothing else knows their names.

The verbs of ``ssi ingest``, the forms of the flows and ``ssi.read(..., source=NAME)`` follow from
the class of a source.
"""

from __future__ import annotations

from importlib import import_module

from ssi_core.corpus.source import Source

_HERE = "ssi_core.corpus.sources"

SOURCES: dict[str, str] = {
    "wikipedia": f"{_HERE}.wikipedia:Wikipedia",
    "wikispeedia": f"{_HERE}.wikispeedia:Wikispeedia",
    "collection": f"{_HERE}.smart:Smart",
    "mates": f"{_HERE}.mates:Mates",
    "table": f"{_HERE}.table:Table",
    "folder": f"{_HERE}.folder:Folder",
    "beir": f"{_HERE}.beir:Beir",
    "trec": f"{_HERE}.trec:Trec",
    "ir-datasets": f"{_HERE}.irds:IrDatasets",
    "clicks": f"{_HERE}.clicks:Clicks",
    "wikispeedia-clicks": f"{_HERE}.wikispeedia_clicks:WikispeediaClicks",
    "ubi": f"{_HERE}.ubi:Ubi",
    "farm-ads": f"{_HERE}.farm_ads:FarmAds",
    "sample": f"{_HERE}.sample:Sample",
    "sample-mates": f"{_HERE}.sample:SampleMates",
    "sample-clicks": f"{_HERE}.sample:SampleClicks",
}
"""Name of a source -> module and class; in the order of the help."""


def source_named(name: str) -> type[Source]:
    """Return the class of a source.

    Raises
    ------
    ValueError
        There is no source of that name.
    """
    if name not in SOURCES:
        raise ValueError(f"source={name!r}; expected one of {', '.join(SOURCES)}")
    module, _, kind = SOURCES[name].partition(":")
    source: type[Source] = getattr(import_module(module), kind)
    return source
