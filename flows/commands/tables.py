"""Verbs of whole tables: pipeline, reproduce, compare."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows.commands.flow_verb import FlowVerb
from ssi_core.command.data import ABSOLUTE, table_file
from ssi_core.command.verb import Name, Outcome, Verb, settings

if TYPE_CHECKING:
    from rich.console import Console


def comparison_outcome(found: Mapping[str, Any], *, slices: bool = False) -> Outcome:
    """Show a comparison: ours beside the printed numbers, tests, claims with their verdicts."""

    def show(console: Console) -> None:
        from flows.reporting.compare import render

        render(dict(found), console, slices=slices)

    return Outcome(found, show)


_INPUTS = ("corpus", "texts", "task", "sample")

_OPTIONS = (
    click.option("--corpus", type=ABSOLUTE, help="Directory of 'ssi ingest'."),
    click.option(
        "--texts",
        "texts",
        type=ABSOLUTE,
        multiple=True,
        help="What is ingested first: dumps, tables (may be repeated), or a folder.",
    ),
    click.option("--task", type=ABSOLUTE, help="Directory of 'ssi features'."),
    click.option(
        "--sample",
        type=click.IntRange(20, 1_000_000),
        metavar="PAGES",
        help="A made-up encyclopedia; both of its editions for a table about two languages.",
    ),
    click.option("--rows", metavar="A,B", help="Labels of rows; else all."),
    click.option("--seeds", type=click.IntRange(min=1), help="Seeds of a row; else the table's."),
    click.option(
        "--budget",
        type=click.IntRange(1, 2**62),
        help="Triples of any training at most; such rows have a comparison of their own.",
    ),
    click.option(
        "--row-threads",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Threads of a row; more leave the cores of --threads to fewer rows.",
    ),
    click.option(
        "--where",
        default="local",
        show_default=True,
        metavar="local|dask:tcp://HOST:PORT",
        help="Where rows and the trials of auto are trained, and dumps of --texts are read: here, "
        "or on a Dask cluster.",
    ),
)


def _computes(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options of what a table is computed on, and of how much of it."""
    for option in reversed(_OPTIONS):
        verb = option(verb)
    return verb


def _compute(
    table: str,
    corpus: Path | None,
    texts: tuple[Path, ...],
    task: Path | None,
    sample: int | None,
    rows: str | None,
    seeds: int | None,
    budget: int | None,
    row_threads: int,
    where: str,
) -> Outcome:
    """Run the flow; what is wrong with the arguments is said before a server is started."""
    given = [name for name in (corpus, texts, task, sample) if name]
    if len(given) != 1:
        raise click.UsageError("Give one of --corpus, --texts, --task and --sample.")
    from flows.reporting.shipped_tables import find_table
    from ssi_core import store
    from ssi_core.collection import open_collection
    from ssi_core.parts import address_of

    address_of(where)
    labels = [label.strip() for label in rows.split(",")] if rows else []
    declared = find_table(table, budget)
    if labels:
        declared.select(labels)
    if task is not None:
        store.read(task, "task")
    if corpus is not None:
        open_collection(corpus)
    from flows.pipeline import run_pipeline
    from flows.training.bars import shown_board

    with shown_board(), _finished_shown():
        result = run_pipeline(
            table=table,
            corpus=str(corpus) if corpus else None,
            texts=[str(path) for path in texts],
            task=str(task) if task else None,
            **({"sample": sample} if sample else {}),
            rows=labels,
            seeds=seeds,
            budget=budget,
            threads=settings().threads,
            row_threads=row_threads,
            where=where,
        )
    return comparison_outcome(result)


@contextmanager
def _finished_shown() -> Iterator[None]:
    """Print the rows that are finished, to a person, before the error of those that failed."""
    from flows.pipeline import RowsFailed
    from ssi_core.command.screen import Screen

    try:
        yield
    except RowsFailed as error:
        if error.comparison and not settings().json:
            comparison_outcome(error.comparison).show(Screen(sys.stdout))
        raise (error.__cause__ or error) from None


@click.command(
    cls=FlowVerb,
    examples=(
        "ssi pipeline demo --corpus corpus",
        'ssi pipeline wikispeedia-table1 --task task --rows "TF-IDF,U\'V + I" --seeds 3',
        "ssi pipeline my-table.toml --texts simplewiki-pages-articles.xml.bz2",
        "ssi pipeline sample-table9 --sample 2000",
    ),
)
@click.argument("table", callback=table_file)
@_computes
def pipeline(table: str, **options: Any) -> Outcome:
    """Compute a table: ingest, features, every row, comparison.

    What is already there is not made again. Rows run side by side on the cores of --threads, a
    thread each, which repeats bit by bit on any number of cores.
    """
    return _compute(table, **options)


@click.command(
    cls=FlowVerb,
    examples=(
        "ssi reproduce",
        "ssi reproduce wikispeedia-table4 --corpus corpus",
        'ssi reproduce ssi2010-table1 --corpus corpus --rows "TF-IDF raw,U\'V + I" --budget 50000',
    ),
)
@click.argument("name", required=False)
@_computes
def reproduce(name: str | None, **options: Any) -> Outcome:
    """Compute a shipped table, beside what its paper prints; without NAME list them.

    The list is by the data that a table needs, and says which one suits data of your own.

    It is 'ssi pipeline' for these tables: rows that are finished are not trained again, and those
    that were interrupted go on.
    """
    from flows.reporting.shipped_tables import find_table, shipped_tables
    from ssi_core.strict import instead
    from ssi_core.types import BadInput

    tables = shipped_tables()
    if name is None:
        if any(options[one] for one in _INPUTS):
            raise click.UsageError("Give the NAME of a table; 'ssi reproduce' lists them.")
        return _listed([find_table(table) for table in tables])
    if name not in tables:
        raise BadInput(
            f"no shipped table {instead(name, tables)} 'ssi pipeline FILE' computes one of yours."
        )
    return _compute(name, **options)


_NEEDS = {
    "link": "links between documents: ssi ingest wikipedia | wikispeedia",
    "click": "clicks on ads, results or links: ssi ingest clicks",
    "translation": "texts and their translations: ssi ingest mates",
    "translation > link": "translations, and links between them: ssi ingest mates",
    "judgement": "judged queries: ssi ingest collection",
}
"""Kinds of data that tables need, and the commands that read them."""


def _listed(tables: list[Any]) -> Outcome:
    from flows.reporting.shipped_tables import NEW_DATA
    from ssi_core.command.text import plain_table

    entries = [
        {
            "name": table.name,
            "title": table.title,
            "needs": table.relevant,
            "for_new_data": NEW_DATA.get(table.relevant) == table.name,
            "rows": len(table.rows),
            "printed": sum(row.paper.any_measure for row in table.rows),
            "claims": len(table.claims),
            "source": table.source,
        }
        for table in tables
    ]

    def show(console: Console) -> None:
        head = ["name", "title", "rows", "printed"]
        for needs, commands in _NEEDS.items():
            group = [one for one in entries if one["needs"] == needs]
            group.sort(key=lambda one: not one["for_new_data"])
            hint = f"; for data of your own: {NEW_DATA[needs]}" if needs in NEW_DATA else ""
            console.print(commands + hint, style="bold")
            lines = [[str(one[column] or "-") for column in head] for one in group]
            console.print(plain_table(head, lines, left=2))
            console.print()
        console.print(
            "printed: rows whose paper prints numbers, which stand beside ours. Which table suits "
            "which data, and how long it takes: docs/which-table.md",
            style="dim",
        )

    return Outcome({"tables": entries}, show)


@click.command(
    cls=Verb,
    examples=(
        "ssi compare demo",
        "ssi compare demo --slices",
        "ssi compare --list",
        "ssi compare demo --comparison ID --json",
        "ssi compare wikispeedia-table4 --save docs/results/wikispeedia-table4.json",
    ),
)
@click.argument("experiment", required=False)
@click.option("--list", "listing", is_flag=True, help="List the comparisons, the newest first.")
@click.option(
    "--comparison", type=Name("comparison"), metavar="ID", help="Else the newest of the table."
)
@click.option(
    "--slices",
    is_flag=True,
    help="Also by what training saw of a document, links back, frequency, words of the query.",
)
@click.option("--save", type=ABSOLUTE, metavar="FILE", help="Write the file that pages quote.")
def compare(
    experiment: str | None,
    listing: bool,
    comparison: str | None,
    slices: bool,
    save: Path | None,
) -> Outcome:
    """Compare the rows of a table.

    Paired tests, the printed numbers beside ours, the claims of order with their verdicts. Without
    --comparison it is the newest comparison of the table that is finished, and no retraining.
    """
    if listing:
        if comparison or slices or save:
            raise click.UsageError("--list goes with EXPERIMENT alone, or without it.")
        return _comparisons(experiment)
    if experiment is None:
        raise click.UsageError("Give EXPERIMENT, the name of a table; --list lists them.")
    from flows.reporting.compare import compare as compared

    results = compared(experiment, comparison)
    if save is not None:
        from flows.reporting.result_file import save as write

        write(results, save)
    return comparison_outcome(results, slices=slices)


def _comparisons(experiment: str | None) -> Outcome:
    from flows import tracking
    from flows.reporting.comparisons import listed
    from ssi_core.command.text import plain_table

    tracking.ready()
    comparisons = listed(experiment)

    def show(console: Console) -> None:
        head = ["table", "comparison", "what", "when", "rows"]
        lines = [
            [one.table, one.comparison, one.what, local_time(one.when), str(one.rows)]
            for one in comparisons
        ]
        console.print(plain_table(head, lines, left=4))
        console.print("rows: finished. ssi compare TABLE --comparison ID", style="dim")

    return Outcome({"comparisons": [asdict(one) for one in comparisons]}, show)


def local_time(moment: str) -> str:
    """Return a moment as a clock on the wall shows it, to the minute."""
    return f"{datetime.fromisoformat(moment).astimezone():%Y-%m-%d %H:%M}"
