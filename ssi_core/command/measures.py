"""Measures of a model for a person and for a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.types import Report

_VALUE_WIDTH = 12
SHORT = {"mrr": "MRR", "ndcg_at_10": "nDCG@10", "popular_at_10": "popular@10"}
"""Measures of short queries -> their headings."""


class Words(click.Choice[str]):
    """Some words in any case; a measure may be written as its heading, such as nDCG@10."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word as it is declared."""
        from ssi_core.strict import measure_key

        key = measure_key(value)
        return super().convert(key if key in self.choices else value, param, ctx)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return what a person is told of a wrong word: the nearest, and all."""
        from ssi_core.strict import meant

        said = super().get_invalid_choice_message(value, ctx)
        return f"{said}{meant(str(value), self.choices)}"


def metrics(report: Report, side: str) -> dict[str, float]:
    """Return SIDE/MEASURE -> value, and SIDE/MEASURE_se -> its standard error.

    Those of short queries are SIDE/KIND/MEASURE.
    """
    from ssi_core.evaluation.slices import of_short

    metrics = {f"{side}/{name}": value for name, value in report.means.items()}
    metrics |= {f"{side}/{name}_se": value for name, value in report.errors.items()}
    for kind, values in of_short(report).items():
        metrics |= {f"{side}/{kind}/{name}": value for name, value in values.items()}
    return metrics


def show_measures(console: Console, report: Report) -> None:
    """Print each measure with its error, the highest value it can have, and the candidates."""
    from rich.table import Table

    from ssi_core.command.text import plain_table
    from ssi_core.evaluation.slices import of_short

    table = Table("measure", box=None, pad_edge=False)
    for name in ("mean", "s.e.", "bound"):
        table.add_column(name, justify="right")
    for name, value in report.means.items():
        error, bound = report.errors.get(name), report.bounds.get(name)
        cells = ["" if x is None else f"{x:.4f}" for x in (value, error, bound)]
        table.add_row(name, *cells)
    console.print(table)
    if report.candidates:
        console.print(f"candidates: {report.candidates}", style="dim")
    if short := of_short(report):
        console.print("\nshort queries", style="bold")
        lines = [
            [kind, *(map_cell(values, name) for name in SHORT)] for kind, values in short.items()
        ]
        console.print(plain_table(["queries", *SHORT.values()], lines))


def value_cells(values: Mapping[str, Mapping[str, float]]) -> tuple[list[str], list[list[str]]]:
    """Return head and cells of a table of `by_value` that is at most 80 columns wide."""
    head = ["value", " queries", " cand.", " loss %", " MAP", " MRR", " nDCG@10"]
    lines = [
        [_short(value), *(f" {cell}" for cell in _numbers(numbers))]
        for value, numbers in values.items()
    ]
    return head, lines


def _numbers(numbers: Mapping[str, float]) -> list[str]:
    counts = (f"{numbers[name]:.0f}" for name in ("queries", "candidates"))
    measures = (map_cell(numbers, name).removeprefix("0") for name in ("map", "mrr", "ndcg_at_10"))
    return [*counts, rank_loss_cell(numbers), *measures]


def _short(value: str) -> str:
    return value if len(value) <= _VALUE_WIDTH else f"{value[: _VALUE_WIDTH - 1]}…"


def rank_loss_cell(values: Mapping[str, float] | None) -> str:
    """Write the rank loss of a slice in per cent, with its error."""
    if values is None:
        return ""
    loss = f"{100 * values['rank_loss']:.2f}"
    return f"{loss} ±{100 * values['rank_loss_se']:.2f}" if "rank_loss_se" in values else loss


def map_cell(values: Mapping[str, float] | None, measure: str = "map") -> str:
    """Write a measure of a slice with its error."""
    if values is None or measure not in values:
        return ""
    mean, error = f"{values[measure]:.3f}", values.get(f"{measure}_se")
    spread = "" if error is None else f"{error:.3f}".removeprefix("0")
    return f"{mean} ±{spread}" if spread else mean
