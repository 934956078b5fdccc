"""Slices of a comparison: a table for what divides the relevant documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssi_core.command.measures import SHORT as MEASURES
from ssi_core.command.measures import map_cell, rank_loss_cell
from ssi_core.evaluation.slices import GROUPS, SHORT, of_reports
from ssi_core.types import Report

FILE = "slices.json"
"""Name of the table among the files of a run."""


def columns(report: Report) -> dict[str, list[Any]]:
    """Return the slices of a report as columns: ``slice`` and the measures; empty: there are none.

    They are a table of a run and no metrics of it, as MLflow would draw a chart of each number.
    """
    rows = of_reports([report])
    names = dict.fromkeys(name for values in rows.values() for name in values)
    measures = {name: [values.get(name) for values in rows.values()] for name in names}
    return {"slice": list(rows), **measures} if rows else {}


def tables(comparison: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return title, head and cells of a table for each group that divides anything and measure."""
    rows = {row["label"]: row.get("slices", {}) for row in comparison["summary"]}
    rows = {label: values for label, values in rows.items() if values}
    cells = []
    for group, names in GROUPS.items():
        present = [name for name in names if any(name in values for values in rows.values())]
        if len(present) < 2:
            continue
        head = ["row", *(name.replace("_", " ").replace("query", "").strip() for name in present)]
        for title, cell in (("rank loss %", rank_loss_cell), ("MAP", map_cell)):
            lines = [[row, *(cell(values.get(n)) for n in present)] for row, values in rows.items()]
            cells.append((f"{title} by {group}", head, lines))
    return cells + _short(rows)


def _short(rows: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return a table for each kind of short queries, whose measures are those of a person."""
    head = ["row", *MEASURES.values()]
    cells = []
    for kind in SHORT:
        lines = [
            [row, *(map_cell(values[kind], name) for name in MEASURES)]
            for row, values in rows.items()
            if kind in values
        ]
        if lines:
            cells.append((f"short queries: {kind}", head, lines))
    return cells
