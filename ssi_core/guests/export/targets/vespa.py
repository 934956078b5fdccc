"""Vespa: two tensors for each document, words and latent numbers, and their products as the rank.

Tensors may have cells of any sign: the score is the model's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ssi_core.guests.export.terms import Layout
from ssi_core.guests.export.writing import Material, Target, text, write_lines
from ssi_core.types import TextMatrix

SERVICES = """\
<?xml version="1.0" encoding="UTF-8"?>
<services version="1.0">
  <container id="default" version="1.0">
    <document-api/>
    <search/>
  </container>
  <content id="content" version="1.0">
    <min-redundancy>1</min-redundancy>
    <documents>
      <document type="ssi" mode="index"/>
    </documents>
  </content>
</services>
"""
_WORDS = ("tensor<float>(word{})", "indexing: attribute | summary")
_LATENT = (
    "tensor<float>(x[WIDTH])",
    "indexing: attribute | index\n      attribute { distance-metric: dotproduct }",
)

_RANKED = {
    "ranking": "ssi",
    "hits": "$k",
    "input.query(words)": "$signed",
    "input.query(latent)": "$vector",
}
BODIES = {
    "query": {"yql": "select id, title from ssi where true", **_RANKED},
    "rescore": {
        "yql": "select id, title from ssi where {targetHits:1000}nearestNeighbor(latent,latent)",
        **_RANKED,
    },
}


def schema(layout: Layout) -> str:
    """Return the schema of the documents, with the rank profile ``ssi``."""
    tensors = {}
    if len(layout.words):
        tensors["words"] = _WORDS
    if layout.latent:
        tensors["latent"] = (_LATENT[0].replace("WIDTH", str(layout.latent)), _LATENT[1])
    fields = "".join(
        f"    field {name} type {kind} {{\n      {indexing}\n    }}\n"
        for name, (kind, indexing) in {
            "id": ("string", "indexing: attribute | summary"),
            "title": ("string", "indexing: index | summary"),
            **tensors,
        }.items()
    )
    inputs = "".join(f"      query({name}) {kind}\n" for name, (kind, _) in tensors.items())
    score = " + ".join(f"sum(query({name}) * attribute({name}))" for name in tensors)
    return (
        f"schema ssi {{\n  document ssi {{\n{fields}  }}\n"
        f"  rank-profile ssi {{\n    inputs {{\n{inputs}    }}\n"
        f"    first-phase {{\n      expression: {score}\n    }}\n  }}\n}}\n"
    )


def _write(path: Path, material: Material) -> None:
    """Write ``feed/*.jsonl``, an operation "put" for each document."""

    def operations() -> Iterator[str]:
        words = list(material.layout.words)
        for block in material.blocks():
            for row, (name, title) in enumerate(zip(block.ids, block.titles, strict=True)):
                fields: dict[str, Any] = {"id": name, "title": title}
                if block.vectors.sparse is not None:
                    fields["words"] = _cells(block.vectors.sparse, row, words)
                if block.vectors.dense is not None:
                    fields["latent"] = _rounded(block.vectors.dense[row].tolist())
                put = {"put": f"id:ssi:ssi::{quote(name, safe='')}", "fields": fields}
                yield f"{text(put)}\n"

    material.counts["bytes"] = write_lines(path / "feed", "jsonl", operations())


def _cells(rows: TextMatrix, row: int, words: list[str]) -> dict[str, float]:
    entries = slice(rows.indptr[row], rows.indptr[row + 1])
    names = (words[column] for column in rows.indices[entries].tolist())
    return dict(zip(names, _rounded(rows.data[entries].tolist()), strict=True))


def _rounded(numbers: list[float]) -> list[float]:
    return [float(f"{x:.7g}") for x in numbers]


def _first(path: Path, layout: Layout) -> None:
    application = path / "application"
    (application / "schemas").mkdir(parents=True)
    (application / "services.xml").write_text(SERVICES, encoding="utf-8")
    (application / "schemas" / "ssi.sd").write_text(schema(layout), encoding="utf-8")


TARGET = Target(BODIES, _write, _first)
