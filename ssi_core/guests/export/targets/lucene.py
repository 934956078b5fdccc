"""Lucene itself: rows of text, and a Java class that makes feature fields of them and searches."""

from __future__ import annotations

from pathlib import Path

from ssi_core.guests.export.terms import Layout
from ssi_core.guests.export.writing import Material, Target, json_rows, program, write_lines


def _write(path: Path, material: Material) -> None:
    """Write ``documents/*.tsv``: id, title and terms, as JSON, separated by tabs."""
    names = material.layout.names
    entries = (
        f"{_cell(name)}\t{_cell(title)}\t{row}\n"
        for block, terms in material.terms()
        for name, title, row in zip(block.ids, block.titles, json_rows(terms, names), strict=True)
    )
    material.counts["bytes"] = write_lines(path / "documents", "tsv", entries)


def _cell(value: str) -> str:
    return " ".join(value.split())


def _first(path: Path, layout: Layout) -> None:
    program("Ssi.java", path / "Ssi.java")


TARGET = Target({"query": "$terms"}, _write, _first)
