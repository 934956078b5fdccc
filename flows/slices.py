"""Slices of a comparison: a table for what divides the relevant documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ssi_core.evaluation.slices import GROUPS, summary
from ssi_core.types import Report

FILE = "slices.json"
"""Name of the table among the files of a run."""


def of_reports(reports: Sequence[Report]) -> dict[str, dict[str, float]]:
    """Average the slices of the seeds of a row; empty for reports of an earlier version."""
    frames = [report.slices for report in reports if report.slices is not None]
    return summary(frames) if frames else {}


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
    rows = {label: own for label, own in rows.items() if own}
    made = []
    for group, names in GROUPS.items():
        there = [name for name in names if any(name in own for own in rows.values())]
        if len(there) < 2:
            continue
        head = ["row", *(name.replace("_", " ").replace("query", "").strip() for name in there)]
        for title, cell in (("rank loss %", _rank_loss), ("MAP", _map)):
            lines = [[row, *(cell(own.get(n)) for n in there)] for row, own in rows.items()]
            made.append((f"{title} by {group}", head, lines))
    return made


def _rank_loss(said: Mapping[str, float] | None) -> str:
    if said is None:
        return ""
    value = f"{100 * said['rank_loss']:.2f}"
    return f"{value} ±{100 * said['rank_loss_se']:.2f}" if "rank_loss_se" in said else value


def _map(said: Mapping[str, float] | None) -> str:
    if said is None:
        return ""
    value = f"{said['map']:.3f}"
    spread = f"{said['map_se']:.3f}".removeprefix("0") if "map_se" in said else ""
    return f"{value} ±{spread}" if spread else value
