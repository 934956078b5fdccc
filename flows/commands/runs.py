"""Verbs of runs: train, export-trec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows.commands.flow_verb import FlowVerb
from ssi_core.command.data import table_file
from ssi_core.command.evaluate import FOLD, folds
from ssi_core.command.measures import metrics, show_measures
from ssi_core.command.models import directory_of
from ssi_core.command.verb import Name, Outcome, Verb, settings

if TYPE_CHECKING:
    from rich.console import Console

TASK = click.option(
    "--task", type=click.Path(path_type=Path), required=True, help="Directory of 'ssi features'."
)


@click.command(
    cls=FlowVerb, examples=('ssi train demo --task task --row "U\'V + I" --seed 1 --threads 2',)
)
@click.argument("table", callback=table_file)
@TASK
@click.option("--row", required=True, metavar="LABEL", help="Label of the row.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--comparison",
    type=Name("comparison"),
    metavar="ID",
    help="Comparison to join; else a new one.",
)
def train(table: str, task: Path, row: str, seed: int, comparison: str | None) -> Outcome:
    """Train and measure one row: one run of MLflow."""
    from flows import tracking
    from flows.reporting.shipped_tables import find_table
    from flows.training import rows
    from flows.training.bars import shown_board
    from flows.training.board import posted, row_name
    from flows.training.costs import require_rows

    declared = find_table(table)
    threads = settings().threads or 1
    require_rows([(declared.row(row), task)], workers=0, threads=threads)
    tracking.ready()
    comparison = comparison or str(tracking.new_comparison_id(declared))
    with shown_board(), posted(row_name(row, seed)):
        run = rows.run_row(table, row, task, seed, comparison, threads)
    report = tracking.run_report(run)
    value = {
        "run_id": run,
        "experiment": declared.name,
        "comparison": comparison,
        "label": row,
        "seed": seed,
        "metrics": metrics(report, "test"),
        "candidates": report.candidates,
    }

    def show(console: Console) -> None:
        console.print(f"run {run} of {declared.name}, comparison {comparison}")
        show_measures(console, report)

    return Outcome(value, show)


@click.command(
    "export-trec",
    cls=Verb,
    examples=(
        "ssi export-trec 0123abcd --out trec",
        "ssi export-trec 0123abcd --out trec --texts",
    ),
)
@click.argument("run")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--task", type=click.Path(path_type=Path), help="Else the task that the run names.")
@FOLD
@click.option(
    "--texts",
    is_flag=True,
    help="Also write documents and queries, for another system whose run is a row (trec_run).",
)
def export_trec(run: str, out: Path, task: Path | None, fold: int | None, texts: bool) -> Outcome:
    """Write the rankings of a run for other tools.

    The files are run.trec and qrels.trec. Equal scores are ordered as in the evaluation, by the
    order of the task's documents, and are written slightly apart: MAP, MRR, P@k and nDCG agree
    with the report. Its rank loss counts a tie as one half, which the files cannot say.

    Of a task with folds the files have every query, ranked by the model of the fold that tests it.

    With --texts there are also corpus.jsonl and queries.jsonl, of BEIR's form: all documents, and
    the queries of validation and test, under the ids of the run.
    """
    from flows import tracking
    from ssi_core.evaluation.texts import write_texts
    from ssi_core.evaluation.trec import write_folds
    from ssi_core.files import writing
    from ssi_core.tasks.task import open_task

    if task is None:
        directory_of(run)  # which explains a run that is not there
        task = Path(tracking.client().get_run(run).data.tags["task_path"])
    with writing(out):
        parts = folds(run, task, fold)
        ranking, relevant = write_folds(parts, out, threads=settings().threads or 1, name=run[:32])
        value = {"run": str(ranking), "qrels": str(relevant)}
        if texts:
            corpus, queries = write_texts(open_task(task), out)
            value |= {"corpus": str(corpus), "queries": str(queries)}

    def show(console: Console) -> None:
        for path in value.values():
            console.print(path)

    return Outcome(value, show)
