"""Engines and formats that models are exported to: one file for each, and one line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ssi_core.registry import Registry

if TYPE_CHECKING:
    from ssi_core.export.writing import Target

_HERE = "ssi_core.export.targets"

TARGETS: Registry[Target] = Registry(
    "targets",
    {
        "opensearch": f"{_HERE}.opensearch:TARGET",
        "elasticsearch": f"{_HERE}.elasticsearch:TARGET",
        "lucene": f"{_HERE}.lucene:TARGET",
        "qdrant": f"{_HERE}.qdrant:TARGET",
        "vespa": f"{_HERE}.vespa:TARGET",
        "pgvector": f"{_HERE}.pgvector:TARGET",
        "bm25s": f"{_HERE}.bm25s:TARGET",
        "faiss": f"{_HERE}.faiss:TARGET",
        "trec-vectors": f"{_HERE}.trec_vectors:TARGET",
    },
)
"""Name in ``--to`` -> how it is written."""
