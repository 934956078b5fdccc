"""Verbs of single rows and their models: train, evaluate, export-trec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.data import table_file
from ssi_core.command.models import directory_of
from ssi_core.command.verb import Name, Outcome, Verb, progress, settings

if TYPE_CHECKING:
    from rich.console import Console

    from flows.tracking import RowRun
    from ssi_core.models.base import FittedModel
    from ssi_core.types import Task

TASK = click.option(
    "--task", type=click.Path(path_type=Path), required=True, help="Directory of 'ssi features'."
)

FOLD = click.option(
    "--fold",
    type=click.IntRange(min=1),
    help="Of a task with folds: that of a model directory; of a run one fold, else all of them.",
)


@click.command(
    cls=Verb, examples=('ssi train demo --task task --row "U\'V + I" --seed 1 --threads 2',)
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
    from flows import rows, tracking
    from flows.bars import shown_board
    from flows.board import posted, row_name
    from flows.costs import require_rows
    from flows.shipped import find_table

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
        "metrics": _metrics(report, "test"),
        "candidates": report.candidates,
    }

    def show(console: Console) -> None:
        console.print(f"run {run} of {declared.name}, comparison {comparison}")
        _show_measures(console, report)

    return Outcome(value, show)


@click.command(
    cls=Verb,
    examples=(
        "ssi evaluate models:/ssi@champion --task task",
        "ssi evaluate 0123abcd --task cranfield-task --fold 1",
        "ssi evaluate models:/ssi@champion --on other-corpus --out trec",
        "ssi evaluate 0123abcd --on kyoto --relevant translation",
        "ssi evaluate 0123abcd --on corpus --by category",
    ),
)
@click.argument("model")
@click.option("--task", type=click.Path(path_type=Path), help="Directory of 'ssi features'.")
@click.option(
    "--on",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A collection or a frozen set, read with the model's own words.",
)
@click.option(
    "--relevant",
    type=click.Choice(["click", "translation > link", "translation", "link", "judgement"]),
    help="With --on: what is looked for; else the first of these that there is, judgements before "
    "all.",
)
@click.option(
    "--by",
    metavar="COLUMN",
    help="With --on: also the measures for each value of a column, such as category or language, "
    "of the queries; document.COLUMN: of the documents.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="For run.trec and qrels.trec."
)
@FOLD
@click.option("--side", type=click.Choice(["test", "valid"]), default="test", show_default=True)
@click.option("--queries", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the drawn queries.")
def evaluate(
    model: str,
    task: Path | None,
    on: Path | None,
    relevant: str | None,
    by: str | None,
    out: Path | None,
    fold: int | None,
    side: str,
    queries: int,
    seed: int,
) -> Outcome:
    """Measure a model on a task, or on any texts.

    Rank loss, MAP, precision and more, each with its standard error. What --on measures is a run of
    the MLflow experiment "evaluations".

    --task is for the task that the model was trained on, or one with the same words; another one
    is refused. --on reads raw texts with the model's own words, whatever it was trained on: the
    pairs of a frozen set, all judgements of a collection, or those pairs that the keyed hash of the
    split puts on the test side. Texts in a language that the model does not read are refused, and
    the share of words that it does not know is shown.

    Of a run on a task with folds, each query is ranked by the model of the fold that tests it.
    """
    from flows.frozen import Unseen, texts_for
    from flows.report import plain_table
    from flows.slices import by_value, value_cells
    from flows.tracking import evaluation_run
    from ssi_core.evaluation.evaluate import evaluate as measure
    from ssi_core.evaluation.folds import pooled
    from ssi_core.evaluation.trec import write_folds
    from ssi_core.files import writing
    from ssi_core.models import load_model
    from ssi_core.serving.searcher import model_in
    from ssi_core.tasks.labels import FEWEST

    if (task is None) == (on is None):
        raise click.UsageError("Name what to measure on: either --task or --on.")
    if on is not None and (side != "test" or fold is not None):
        raise click.UsageError("--on has a test side only, and no folds.")
    if on is None and (by or relevant):
        raise click.UsageError("--by and --relevant go with --on.")
    how: dict[str, Any] = {"side": side, "queries": queries, "seed": seed}
    how["threads"] = settings().threads or 1
    unseen: Unseen | None = None
    recorded: AbstractContextManager[RowRun | None] = nullcontext()
    if on is not None:
        fitted = load_model(model_in(directory_of(model)))
        _require_unseen_queries(model, on)
        unseen = texts_for(fitted, on, queries=queries, relevant=relevant, by=by)
        options = {"relevant": relevant, "by": by, "queries": queries, "seed": seed}
        recorded = evaluation_run("evaluation", model, on, options)

    def parts() -> Iterator[tuple[FittedModel, Task]]:
        if unseen is not None:
            return _affordable([(fitted, unseen.task)], queries)
        assert task is not None
        return _folds(model, task, fold, queries)

    value: dict[str, Any] = {"model": model, "task": str(on or task)}
    with recorded as run:
        with progress("evaluate") as tell:
            report = pooled([measure(*part, **how, progress=tell) for part in parts()])
        if out is not None:
            with writing(out):
                paths = write_folds(parts(), out, **how, name=model[:32].replace(" ", "-"))
            value |= dict(zip(("run", "qrels"), map(str, paths), strict=True))
        if run is not None and unseen is not None:
            run.report(report)
            run.measured({f"unknown/{name}": share for name, share in unseen.unknown.items()})
            for path in () if out is None else paths:
                run.keep(path)
            value |= {"run_id": run.run_id, "unknown_words": unseen.unknown}
    value |= {"metrics": _metrics(report, side), "candidates": report.candidates}
    values = {} if by is None else by_value(report, by)
    value |= {"by": {"column": by, "values": values}} if by else {}

    def show(console: Console) -> None:
        _show_measures(console, report)
        if unseen is not None:
            shares = ", ".join(f"{side} {share:.1%}" for side, share in unseen.unknown.items())
            console.print(f"words unknown to the model: {shares}", style="dim")
            console.print(f"run {value['run_id']} of evaluations", style="dim")
        if by is not None:
            console.print(f"\nby {by}", style="bold")
            console.print(plain_table(*value_cells(values), padding=0))
            console.print(f"values with fewer than {FEWEST} queries are one row", style="dim")

    return Outcome(value, show)


@click.command("export-trec", cls=Verb, examples=("ssi export-trec 0123abcd --out trec",))
@click.argument("run")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--task", type=click.Path(path_type=Path), help="Else the task that the run names.")
@FOLD
def export_trec(run: str, out: Path, task: Path | None, fold: int | None) -> Outcome:
    """Write the rankings of a run for other tools.

    The files are run.trec and qrels.trec. Equal scores are ordered as in the evaluation, by the
    order of the task's documents, and are written slightly apart: MAP, MRR, P@k and nDCG agree
    with the report. Its rank loss counts a tie as one half, which the files cannot say.

    Of a task with folds the files have every query, ranked by the model of the fold that tests it.
    """
    from flows import tracking
    from ssi_core.evaluation.trec import write_folds
    from ssi_core.files import writing

    if task is None:
        directory_of(run)  # which explains a run that is not there
        task = Path(tracking.client().get_run(run).data.tags["task_path"])
    with writing(out):
        parts = _folds(run, task, fold)
        ranking, relevant = write_folds(parts, out, threads=settings().threads or 1, name=run[:32])
    value = {"run": str(ranking), "qrels": str(relevant)}

    def show(console: Console) -> None:
        for path in (ranking, relevant):
            console.print(str(path))

    return Outcome(value, show)


def _require_unseen_queries(model: str, on: Path) -> None:
    """Refuse a judged collection that a run has learnt from: most of its queries are not new."""
    from flows.tracking import training_of
    from ssi_core import store
    from ssi_core.collection import JUDGEMENT, KIND, open_collection
    from ssi_core.types import BadInput

    artefact = store.read(on)
    if artefact.kind != KIND or JUDGEMENT not in open_collection(on).relevant:
        return
    trained = training_of(model)
    if artefact.key == trained.get("corpus"):
        raise BadInput(
            f"{on}: {model} has learnt from its judgements. 'ssi evaluate {model} --task "
            f"{trained['task_path']}' measures each query with the model of the fold that tests it."
        )


def _folds(
    model: str, task: Path, fold: int | None, queries: int = 1000
) -> Iterator[tuple[FittedModel, Task]]:
    """Yield the folds of a task that are asked for, each with the model that was trained in it."""
    from flows import tracking
    from ssi_core.evaluation.folds import fold_of
    from ssi_core.models import load_model
    from ssi_core.serving.searcher import model_in
    from ssi_core.tasks.task import open_task

    opened = open_task(task)
    if Path(model).is_dir() or not opened.folds:
        one = load_model(model_in(directory_of(model))), fold_of(opened, fold)
        return _affordable([one], queries)
    numbers = [fold] if fold else range(1, len(opened.folds) + 1)
    tasks = [fold_of(opened, number) for number in numbers]
    models = (load_model(tracking.fold_directory(model, number)) for number in numbers)
    return _affordable(zip(models, tasks, strict=True), queries)


def _affordable(
    parts: Iterable[tuple[FittedModel, Task]], queries: int
) -> Iterator[tuple[FittedModel, Task]]:
    """Yield models and tasks; refuse those that memory is too small for."""
    from flows.costs import require_evaluation

    for fitted, task in parts:
        require_evaluation(fitted.model, task, queries)
        yield fitted, task


def _metrics(report: Any, side: str) -> dict[str, float]:
    metrics = {f"{side}/{name}": value for name, value in report.means.items()}
    return metrics | {f"{side}/{name}_se": value for name, value in report.errors.items()}


def _show_measures(console: Console, report: Any) -> None:
    from rich.table import Table

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
