"""Slices of a comparison: a table for what divides the relevant documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ssi_core.evaluation.slices import GROUPS, summary
from ssi_core.types import Report


def of_reports(reports: Sequence[Report]) -> dict[str, dict[str, float]]:
    """Average the slices of the seeds of a row; empty for reports of an earlier version."""
    frames = [report.slices for report in reports if report.slices is not None]
    return summary(frames) if frames else {}


def metrics(report: Report) -> dict[str, float]:
    """Name the slices of a report as MLflow keeps them: ``slices/NAME/MEASURE``."""
    found = of_reports([report])
    return {f"slices/{name}/{k}": v for name, said in found.items() for k, v in said.items()}


def tables(comparison: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return title, head and cells of a table for each group that divides anything."""
    rows = {row["label"]: row.get("slices", {}) for row in comparison["summary"]}
    made = []
    for title, names in GROUPS.items():
        there = [name for name in names if any(name in own for own in rows.values())]
        if len(there) < 2:
            continue
        shown = [name.replace("_", " ").replace("query", "").strip() for name in there]
        head = ["row", *(f"{name} {what}" for name in shown for what in ("%", "MAP"))]
        lines = [
            [label, *(cell for name in there for cell in _cells(own.get(name)))]
            for label, own in rows.items()
            if own
        ]
        made.append((title, head, lines))
    return made


def _cells(said: Mapping[str, float] | None) -> tuple[str, str]:
    if said is None:
        return "", ""
    loss, value = f"{100 * said['rank_loss']:.2f}", f"{said['map']:.3f}"
    if "map_se" not in said:
        return loss, value
    spread = f"{said['map_se']:.3f}".removeprefix("0")
    return f"{loss} ±{100 * said['rank_loss_se']:.2f}", f"{value} ±{spread}"
