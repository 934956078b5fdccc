"""Slices of a comparison: a table for what divides the relevant documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ssi_core.evaluation.slices import GROUPS, summary
from ssi_core.types import Report

_VALUE_WIDTH = 12
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


def by_value(report: Report, column: str) -> dict[str, dict[str, float]]:
    """Return value -> measures, of the slices that `labels.marked_by` marked by a column."""
    start = f"{column}="
    return {
        name.removeprefix(start): values
        for name, values in of_reports([report]).items()
        if name.startswith(start)
    }


def value_cells(values: Mapping[str, Mapping[str, float]]) -> tuple[list[str], list[list[str]]]:
    """Return head and cells of a table of `by_value` that is at most 80 columns wide."""
    head = ["value", " queries", " cand.", " loss %", " MAP", " MRR", " nDCG@10"]
    lines = [
        [_short(value), *(f" {cell}" for cell in _numbers(numbers))]
        for value, numbers in values.items()
    ]
    return head, lines


def _numbers(own: Mapping[str, float]) -> list[str]:
    measures = (_map(own, name).removeprefix("0") for name in ("map", "mrr", "ndcg_at_10"))
    return [f"{own['queries']:.0f}", f"{own['candidates']:.0f}", _rank_loss(own), *measures]


def _short(value: str) -> str:
    return value if len(value) <= _VALUE_WIDTH else f"{value[: _VALUE_WIDTH - 1]}…"


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
        for title, cell in (("rank loss %", _rank_loss), ("MAP", _map)):
            lines = [[row, *(cell(values.get(n)) for n in present)] for row, values in rows.items()]
            cells.append((f"{title} by {group}", head, lines))
    return cells


def _rank_loss(said: Mapping[str, float] | None) -> str:
    if said is None:
        return ""
    value = f"{100 * said['rank_loss']:.2f}"
    return f"{value} ±{100 * said['rank_loss_se']:.2f}" if "rank_loss_se" in said else value


def _map(said: Mapping[str, float] | None, measure: str = "map") -> str:
    if said is None:
        return ""
    value, error = f"{said[measure]:.3f}", said.get(f"{measure}_se")
    spread = "" if error is None else f"{error:.3f}".removeprefix("0")
    return f"{value} ±{spread}" if spread else value
