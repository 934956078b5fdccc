"""The verb that shows all of it: sample, table, and a search that needs what was learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from flows.command import Outcome, Verb, settings
from flows.commands.runs import comparison_outcome
from flows.commands.search import directory_of

if TYPE_CHECKING:
    from rich.console import Console

_QUERY = "automobile"


@click.command(cls=Verb, examples=("ssi demo", "ssi demo --documents 500 --seed 7"))
@click.option("--documents", type=click.IntRange(min=20), default=2000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def demo(documents: int, seed: int) -> Outcome:
    """Run all of it on a made-up encyclopedia.

    It takes about two minutes, and ends with a search for "automobile", by words alone and by what
    was learned, side by side.
    """
    from flows.pipeline import run_pipeline

    found = run_pipeline(
        table="demo", sample=documents, sample_seed=seed, threads=settings().threads
    )
    runs = {row["label"]: row["run_id"] for row in found["rows"]}
    labels = ("TF-IDF", _best(found["rows"]))
    results = {label: _titles(runs[label]) for label in labels}
    table = comparison_outcome(found)

    def show(console: Console) -> None:
        table.show(console)
        _show_side_by_side(console, results)
        console.print(
            f"\nLook further:\n  ssi search {runs[labels[1]]} {_QUERY}\n"
            f"  ssi neighbours {runs[labels[1]]} {_QUERY}\n  ssi ui",
            markup=False,
        )

    return Outcome({**found, "search": {"query": _QUERY, "results": results}}, show)


def _best(rows: list[dict[str, Any]]) -> str:
    return str(max(rows, key=lambda row: row["metrics"]["test/map"])["label"])


def _titles(run: str) -> list[str]:
    from ssi_core.serving.searcher import open_searcher

    answer = open_searcher(directory_of(run)).search([_QUERY], k=10)[0]
    return [hit.title for hit in answer.hits]


def _show_side_by_side(console: Console, results: Mapping[str, list[str]]) -> None:
    from rich.table import Table

    table = Table(title=f'search "{_QUERY}"', box=None, pad_edge=False, title_justify="left")
    table.add_column("", justify="right")
    for label in results:
        table.add_column(label)
    places = max(len(titles) for titles in results.values())
    for place in range(places):
        row = [titles[place] if place < len(titles) else "" for titles in results.values()]
        table.add_row(str(place + 1), *row)
    console.print(table)
