"""Bulk files, as OpenSearch and Elasticsearch read them: a line of action, one of a document."""

from __future__ import annotations

from pathlib import Path

from ssi_core.export.writing import Material, json_rows, text, write_lines
from ssi_core.types import BadInput

LONGEST_ID = 512
"""Bytes of an id."""


def write_bulk(place: Path, material: Material) -> None:
    """Write ``bulk/*.ndjson``: the title, and the terms in the field ``ssi``."""
    names = material.layout.names
    if dotted := [name for name in names if "." in name]:
        raise BadInput(
            f"{len(dotted)} terms such as {dotted[0]!r} have a dot, which the engine takes for a "
            "path. Export to another engine."
        )
    entries = (
        f'{{"index":{{"_id":{text(name)}}}}}\n{{"title":{text(title)},"ssi":{row}}}\n'
        for block, terms in material.terms()
        for name, title, row in zip(block.ids, block.titles, json_rows(terms, names), strict=True)
    )
    material.counts["bytes"] = write_lines(place / "bulk", "ndjson", entries)
