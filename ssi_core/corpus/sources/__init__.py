"""The registry of sources: a line for each, and nothing else knows their names.

The verbs of ``ssi ingest``, the forms of the flows and ``ssi.read(..., source=NAME)`` follow from
the class of a source.
"""

from __future__ import annotations

from ssi_core.corpus.source import Source, named

_HERE = "ssi_core.corpus.sources"

SOURCES: dict[str, str] = {
    "wikipedia": f"{_HERE}.wikipedia:Wikipedia",
    "wikispeedia": f"{_HERE}.published:Wikispeedia",
    "collection": f"{_HERE}.published:Smart",
    "mates": f"{_HERE}.mates:Mates",
    "table": f"{_HERE}.table:Table",
    "folder": f"{_HERE}.folder:Folder",
    "beir": f"{_HERE}.judged:Beir",
    "trec": f"{_HERE}.judged:Trec",
    "ir-datasets": f"{_HERE}.irds:IrDatasets",
    "clicks": f"{_HERE}.clicks:Clicks",
    "wikispeedia-clicks": f"{_HERE}.published:WikispeediaClicks",
    "ubi": f"{_HERE}.ubi:Ubi",
    "farm-ads": f"{_HERE}.published:FarmAds",
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
    source: type[Source] = named(SOURCES[name])
    return source
