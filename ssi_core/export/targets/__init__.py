"""Engines and formats that models are exported to: one file for each, and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from ssi_core.export.targets import (
    bm25s,
    elasticsearch,
    faiss,
    lucene,
    opensearch,
    qdrant,
    trec_vectors,
    vespa,
)
from ssi_core.export.writing import Target

TARGETS: Mapping[str, Target] = {
    "opensearch": opensearch.TARGET,
    "elasticsearch": elasticsearch.TARGET,
    "lucene": lucene.TARGET,
    "qdrant": qdrant.TARGET,
    "vespa": vespa.TARGET,
    "bm25s": bm25s.TARGET,
    "faiss": faiss.TARGET,
    "trec-vectors": trec_vectors.TARGET,
}
"""Name in ``--to`` -> how it is written."""
