"""Mapping, bulk files and searches, as OpenSearch and Elasticsearch have them alike.

A bulk file has a line of action, and one of a document.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ssi_core import store
from ssi_core.guests.export.terms import Layout
from ssi_core.guests.export.writing import Material, Target, json_rows, text, write_lines
from ssi_core.types import BadInput

LONGEST_ID = 512
"""Bytes of an id."""


def target_of(field: str, query: Callable[[str], dict[str, object]]) -> Target:
    """Return the target of an engine.

    Parameters
    ----------
    field : str
        Type of the field that has the terms.
    query : callable
        The search for some terms of a query, by the name of their place.
    """
    properties = {"title": {"type": "text"}, "ssi": {"type": field}}
    index = {"mappings": {"dynamic": "strict", "properties": properties}}
    answer: dict[str, object] = {"size": "$k", "_source": ["title"]}
    again = {"window_size": 1000, "query": {"rescore_query": query("$latent")}}
    bodies = {
        "query": {**answer, "query": query("$terms")},
        "rescore": {**answer, "query": query("$words"), "rescore": again},
    }

    def first(path: Path, layout: Layout) -> None:
        store.write_json(path / "index.json", index)

    return Target(bodies, write_bulk, first, LONGEST_ID)


def write_bulk(path: Path, material: Material) -> None:
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
    material.counts["bytes"] = write_lines(path / "bulk", "ndjson", entries)
