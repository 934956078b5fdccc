"""Vectors as text: a line for each document, its id, a tab, and ``term:weight`` for each term."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ssi_core.guests.export.targets.qdrant import columns
from ssi_core.guests.export.writing import Material, Target, write_lines


def _write(path: Path, material: Material) -> None:
    """Write ``vectors/*.vec``; the k-th latent number is the term ``x_k``, of any sign."""
    layout = material.layout
    names = [*layout.words, *(f"x_{k}" for k in range(layout.latent))]

    def lines() -> Iterator[str]:
        for block in material.blocks():
            rows = columns(block.vectors)
            for row, name in enumerate(block.ids):
                entries = slice(rows.indptr[row], rows.indptr[row + 1])
                terms = zip(
                    rows.indices[entries].tolist(), rows.data[entries].tolist(), strict=True
                )
                yield f"{name}\t{' '.join(f'{names[c]}:{x:.7g}' for c, x in terms)}\n"

    material.counts["bytes"] = write_lines(path / "vectors", "vec", lines())


TARGET = Target({"query": {"words": "$signed", "x": "$vector"}}, _write)
