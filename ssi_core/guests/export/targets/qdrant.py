"""Qdrant: a sparse vector that holds the whole score, and the latent vector beside it.

Weights of a sparse vector may be of any sign, so that words and the N latent numbers, as N further
columns, are kept as they are. The latent vector by itself is for an approximate first choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np
from scipy import sparse

from ssi_core import store
from ssi_core.guests.export.documents import Block
from ssi_core.guests.export.terms import Layout
from ssi_core.guests.export.writing import Material, Target, text, write_lines
from ssi_core.scoring.vectors import Vectors
from ssi_core.types import TextMatrix

POINTS = 100
"""Points of a request."""

_WHOLE = {"query": "$sparse", "using": "ssi", "limit": "$k", "with_payload": True}
BODIES = {
    "query": _WHOLE,
    "rescore": {
        "prefetch": [
            {"query": "$vector", "using": "latent", "limit": 1000},
            {"query": "$sparse_words", "using": "ssi", "limit": 1000},
        ],
        **_WHOLE,
    },
}


def columns(vectors: Vectors) -> TextMatrix:
    """Return words and latent numbers side by side; every latent number has an entry."""
    parts: list[Any] = [] if vectors.sparse is None else [vectors.sparse]
    if vectors.dense is not None:
        n, width = vectors.dense.shape
        indices = np.tile(np.arange(width, dtype=np.int32), n)
        ends = np.arange(n + 1, dtype=np.int32) * width
        entries = (np.ascontiguousarray(vectors.dense).ravel(), indices, ends)
        parts.append(sparse.csr_array(entries, shape=(n, width)))
    rows: TextMatrix = sparse.hstack(parts, format="csr", dtype=np.float32)
    return rows


def _write(path: Path, material: Material) -> None:
    """Write ``points/*.json``, each the body of a request that adds points."""

    def requests() -> Iterator[str]:
        for block in material.blocks():
            rows = columns(block.vectors)
            for start in range(0, len(block.ids), POINTS):
                end = min(start + POINTS, len(block.ids))
                points = [_point(block, rows, row) for row in range(start, end)]
                yield f"{text({'points': points})}\n"

    material.counts["bytes"] = write_lines(path / "points", "json", requests(), most=0)


def point_id(document: str) -> str:
    """Return the id of a point: a UUID, the same whenever the document is exported."""
    return str(uuid5(NAMESPACE_URL, document))


def _point(block: Block, rows: TextMatrix, row: int) -> dict[str, Any]:
    entries = slice(rows.indptr[row], rows.indptr[row + 1])
    vector: dict[str, Any] = {
        "ssi": {
            "indices": rows.indices[entries].tolist(),
            "values": [float(f"{x:.7g}") for x in rows.data[entries].tolist()],
        }
    }
    if block.vectors.dense is not None:
        vector["latent"] = [float(f"{x:.7g}") for x in block.vectors.dense[row].tolist()]
    payload = {"id": block.ids[row], "title": block.titles[row]}
    return {"id": point_id(block.ids[row]), "vector": vector, "payload": payload}


def _first(path: Path, layout: Layout) -> None:
    latent = {"latent": {"size": layout.latent, "distance": "Dot"}} if layout.latent else {}
    store.write_json(path / "collection.json", {"vectors": latent, "sparse_vectors": {"ssi": {}}})


TARGET = Target(BODIES, _write, _first)
