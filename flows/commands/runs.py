"""Verbs of runs: train, export-trec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows.commands.flow_verb import FlowVerb
from ssi_core.command.evaluate import folds
from ssi_core.command.fields import NEW_DIRECTORY, PATH, argument, option
from ssi_core.command.measures import metrics, show_measures
from ssi_core.command.models import directory_of
from ssi_core.command.options import FOLD
from ssi_core.command.verb import Outcome, settings, verb

if TYPE_CHECKING:
    from rich.console import Console

    from flows.settings import TrainSettings


@verb(
    "flows.settings:TrainSettings",
    examples=('ssi lab train demo --task task --row "U\'V + I" --seed 1 --threads 2',),
    cls=FlowVerb,
)
def train(given: TrainSettings) -> Outcome:
    """Train and measure one row: one run of MLflow."""
    from flows import tracking
    from flows.reporting.shipped_tables import find_table
    from flows.training import rows
    from flows.training.bars import shown_board
    from flows.training.board import posted, row_name
    from flows.training.costs import require_rows

    declared = find_table(given.table)
    task, threads = Path(given.task), given.threads
    require_rows([(declared.row(given.row), task)], workers=0, threads=threads)
    tracking.ready()
    comparison = given.comparison or str(tracking.new_comparison_id(declared))
    with shown_board(), posted(row_name(given.row, given.seed)):
        run = rows.run_row(given.table, given.row, task, given.seed, comparison, threads)
    report = tracking.run_report(run)
    value = {
        "run_id": run,
        "experiment": declared.name,
        "comparison": comparison,
        "label": given.row,
        "seed": given.seed,
        "metrics": metrics(report, "test"),
        "candidates": report.candidates,
    }

    def show(console: Console) -> None:
        console.print(f"run {run} of {declared.name}, comparison {comparison}")
        show_measures(console, report)

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class ExportTrecSettings:
    """Settings of ``ssi lab export-trec``."""

    run: str = argument("RUN")
    out: Path = option(..., "Directory to write.", type=NEW_DIRECTORY)
    task: Path | None = option(
        None, "Task whose queries are ranked. [default: the task that the run names]", type=PATH
    )
    fold: int | None = FOLD
    texts: bool = option(
        False,
        "Also write the documents and queries, for another system whose run is a row (trec_run).",
        flag="--with-texts",
    )


@verb(
    ExportTrecSettings,
    examples=(
        "ssi lab export-trec 0123abcd --out trec",
        "ssi lab export-trec 0123abcd --out trec --with-texts",
    ),
    name="export-trec",
)
def export_trec(given: ExportTrecSettings) -> Outcome:
    """Write the rankings of a run for other tools.

    The files are run.trec and qrels.trec. Equal scores are ordered as in the evaluation, by the
    order of the task's documents, and are written slightly apart, so that MAP, MRR, P@k and nDCG
    agree with the report. The rank loss of the report counts a tie as one half, which the files
    cannot express.

    For a task with folds, the files have every query, ranked by the model of the fold that tests
    it.

    With --with-texts, corpus.jsonl and queries.jsonl are written too, in the format of BEIR: all
    documents, and the queries of validation and test, under the ids of the run.
    """
    from flows import tracking
    from ssi_core.evaluation.trec import write_folds
    from ssi_core.files import writing
    from ssi_core.guests.trec_run.texts import write_texts
    from ssi_core.tasks.task import open_task

    task = given.task
    if task is None:
        directory_of(given.run)  # which explains a run that is not there
        task = Path(tracking.client().get_run(given.run).data.tags["task_path"])
    with writing(given.out):
        parts = folds(given.run, task, given.fold)
        ranking, relevant = write_folds(
            parts, given.out, threads=settings().threads or 1, name=given.run[:32]
        )
        value = {"run": str(ranking), "qrels": str(relevant)}
        if given.texts:
            corpus, queries = write_texts(open_task(task), given.out)
            value |= {"corpus": str(corpus), "queries": str(queries)}

    def show(console: Console) -> None:
        for path in value.values():
            console.print(path)

    return Outcome(value, show)
