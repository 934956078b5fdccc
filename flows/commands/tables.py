"""Verbs of whole tables: pipeline, reproduce, compare."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows.commands.flow_verb import FlowVerb
from ssi_core.command.fields import ABSOLUTE, argument, option
from ssi_core.command.options import Name
from ssi_core.command.verb import Outcome, settings, verb

if TYPE_CHECKING:
    from rich.console import Console

    from flows.settings import PipelineSettings


def comparison_outcome(found: Mapping[str, Any], *, slices: bool = False) -> Outcome:
    """Show a comparison: ours beside the printed numbers, tests, claims with their verdicts."""

    def show(console: Console) -> None:
        from flows.reporting.compare import render

        render(dict(found), console, slices=slices)

    return Outcome(found, show)


@contextmanager
def _finished_shown() -> Iterator[None]:
    """Print the rows that are finished, to a person, before the error of those that failed."""
    from flows.pipeline import RowsFailed
    from ssi_core.face.screen import Screen

    try:
        yield
    except RowsFailed as error:
        if error.comparison and not settings().json:
            comparison_outcome(error.comparison).show(Screen(sys.stdout))
        raise (error.__cause__ or error) from None


_INPUTS = ("corpus", "texts", "task", "sample")


@verb(
    "flows.settings:PipelineSettings",
    examples=(
        "ssi lab pipeline",
        "ssi lab pipeline demo --corpus corpus",
        'ssi lab pipeline wikispeedia-table1 --task task --rows "TF-IDF,U\'V + I" --seeds 3',
        "ssi lab pipeline my-table.toml --texts simplewiki-pages-articles.xml.bz2",
        "ssi lab pipeline sample-table9 --sample 2000",
    ),
    cls=FlowVerb,
)
def pipeline(given: PipelineSettings) -> Outcome:
    """Compute a table: ingest, features, every row, comparison; or list tables.

    TABLE is the name of a shipped table, which is computed beside the numbers that its paper
    prints, or a TOML file of yours. Without TABLE, the shipped tables are listed by the data that
    they need, and the list says which table suits data of your own.

    Finished steps and rows are not computed again, and interrupted rows continue. Rows are trained
    in parallel on the cores of --threads, one thread per row; the results are identical for any
    number of cores.
    """
    from flows.reporting.shipped_tables import find_table, shipped_tables
    from ssi_core import store
    from ssi_core.collection import open_collection

    inputs = [name for name in _INPUTS if name in given.model_fields_set]
    if "table" not in given.model_fields_set:
        if inputs:
            raise click.UsageError("Give TABLE; 'ssi lab pipeline' lists the shipped ones.")
        return _listed([find_table(table) for table in shipped_tables()])
    if len(inputs) != 1:
        raise click.UsageError("Give one of --corpus, --texts, --task and --sample.")
    # What is wrong is said before a server is started.
    declared = find_table(given.table, given.budget)
    if given.rows:
        declared.select(given.rows)
    if given.task is not None:
        store.read(Path(given.task), "task")
    if given.corpus is not None:
        open_collection(Path(given.corpus))
    from flows.pipeline import run_pipeline
    from flows.training.bars import shown_board

    with shown_board(), _finished_shown():
        result = run_pipeline(**{name: getattr(given, name) for name in given.model_fields_set})
    return comparison_outcome(result)


_NEEDS = {
    "link": "links between documents: ssi data ingest wikipedia | wikispeedia",
    "click": "clicks on ads, results or links: ssi data ingest clicks",
    "translation": "texts and their translations: ssi data ingest mates",
    "translation > link": "translations, and links between them: ssi data ingest mates",
    "judgement": "judged queries: ssi data ingest collection",
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


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Settings of ``ssi compare``."""

    experiment: str | None = argument("EXPERIMENT", None)
    listing: bool = option(False, "List the comparisons, the newest first.", flag="--list")
    comparison: str | None = option(
        None,
        "Comparison to show; ID,ID are those of the folds of one collection, as one. [default: the "
        "newest of the table]",
        metavar="ID",
        type=Name("comparison", several=True),
    )
    together: tuple[str, ...] = option(
        (),
        "Comparison of the same table on another collection (ID,ID on its folds); repeat it. The "
        "claims are tested on all of them together.",
        metavar="ID",
        type=Name("comparison", several=True),
    )
    slices: bool = option(
        False,
        "Also show slices: by what training saw of a document, links back, frequency, and words of "
        "the query.",
    )
    save: Path | None = option(
        None,
        "JSON file to write, which the pages of the documentation quote.",
        metavar="FILE",
        type=ABSOLUTE,
    )


@verb(
    CompareSettings,
    examples=(
        "ssi compare demo",
        "ssi compare demo --slices",
        "ssi compare --list",
        "ssi compare demo --comparison ID --json",
        "ssi compare query-log --comparison ID,ID,ID,ID,ID",
        "ssi compare query-log --together ID --together ID",
        "ssi compare wikispeedia-table4 --save docs/results/wikispeedia-table4.json",
    ),
)
def compare(given: CompareSettings) -> Outcome:
    """Compare the rows of a table.

    EXPERIMENT is the name of a table, or the TOML file of one. The output has paired tests, the
    printed numbers beside ours, and the claims of order with their verdicts. Without --comparison,
    it shows the newest comparison of the table that is finished and is not a retraining. Several
    with commas between them are of the folds of one collection, each of which tests other queries,
    and every query counts the same. With --together, the output has the claims on several
    collections: on these, and what to expect on another.
    """
    if given.listing:
        if given.comparison or given.slices or given.save or given.together:
            raise click.UsageError("--list goes with EXPERIMENT alone, or without it.")
        return _comparisons(given.experiment and _experiment(given.experiment))
    if given.experiment is None:
        raise click.UsageError("Give EXPERIMENT, the name of a table; --list lists them.")
    if given.together:
        if given.comparison or given.slices or given.save:
            raise click.UsageError("--together goes with EXPERIMENT alone.")
        return _together(_experiment(given.experiment), given.together)
    from flows.reporting.compare import compare as compared

    results = compared(_experiment(given.experiment), given.comparison)
    if given.save is not None:
        from flows.reporting.result_file import save as write

        write(results, given.save)
    return comparison_outcome(results, slices=given.slices)


def _together(experiment: str, comparisons: tuple[str, ...]) -> Outcome:
    from flows import tracking
    from flows.reporting.together import render_together, together

    tracking.ready()
    found = together(experiment, comparisons)
    return Outcome(found, lambda console: render_together(found, console))


def _experiment(name_or_path: str) -> str:
    """Return the name of an experiment, which is that of its table; a file holds the table."""
    from flows.reporting.shipped_tables import find_table

    return find_table(name_or_path).name if name_or_path.endswith(".toml") else name_or_path


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
