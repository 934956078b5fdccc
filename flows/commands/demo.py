"""The verb that shows all of it: sample, tables, and searches that need what was learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flows.commands.flow_verb import FlowVerb
from flows.commands.tables import comparison_outcome
from ssi_core.command.fields import option
from ssi_core.command.options import SEED
from ssi_core.command.verb import Outcome, settings, verb

if TYPE_CHECKING:
    from rich.console import Console


_RELATED = 5


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """Settings of ``ssi demo``."""

    documents: int = option(2000, "Number of pages of the encyclopedia.", flag="--size", ge=200)
    seed: int = SEED


@verb(DemoSettings, examples=("ssi demo", "ssi demo --size 500 --seed 7"), cls=FlowVerb)
def demo(given: DemoSettings) -> Outcome:
    """Run all of it on a made-up encyclopedia.

    The demo takes about two minutes. It ends with a search for "automobile", by words alone and by
    the search box that 'ssi fit' makes, side by side; with documents that are related to the first
    answer; and with a search in Japanese among the English pages.
    """
    from flows.demo import demo as run
    from flows.training.bars import shown_board

    with shown_board():
        result = run(given.documents, given.seed, threads=settings().threads)

    def show(console: Console) -> None:
        for comparison in (result, result["across"]):
            comparison_outcome(comparison).show(console)
            _show_search(console, comparison["search"])
            console.print()

    return Outcome(result, show)


def _show_search(console: Console, search: Mapping[str, Any]) -> None:
    from rich.table import Table

    query, labels = search["query"], search["labels"]
    table = Table(title=f'\nsearch "{query}"', box=None, pad_edge=False, title_justify="left")
    table.add_column("", justify="right")
    for label in labels:
        table.add_column(label)
        table.add_column("it says")
    columns = [search["results"][label] for label in labels]
    for position in range(max(map(len, columns))):
        row: list[str] = []
        for hits in columns:
            hit = hits[position] if position < len(hits) else {"title": "", "says": []}
            row += [str(hit["title"]), " and ".join(hit["says"])]
        table.add_row(str(position + 1), *row)
    console.print(table)
    for label, hits in search["results"].items():
        console.print(f"{label} finds {_learnt(hits, search)}")
    run = list(search["runs"].values())[-1]
    if related := search.get("related"):
        titles = ", ".join(related["titles"][:_RELATED])
        console.print(f'{related["row"]} relates to "{related["document"]}": {titles}')
    model = search.get("model", run)
    console.print(
        f"\nLook further:\n  ssi search {model} {query}\n  ssi lab neighbours {run} {query}"
        "\n  ssi ops ui"
    )


def _learnt(hits: list[Mapping[str, Any]], search: Mapping[str, Any]) -> str:
    """Say how many results words alone could not have found."""
    synonym = search["synonym"]
    count = sum(hit["says"] == ([synonym] if synonym else []) for hit in hits)
    pages = "1 page that says" if count == 1 else f"{count} pages that say"
    if synonym:
        return f'{pages} "{synonym}" only'
    words = " nor ".join(f'"{word}"' for word in search["words"])
    return f"{pages} neither {words}"
