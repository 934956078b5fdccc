"""Verbs of single rows and their models: train, evaluate, export-trec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows.command import Name, Outcome, Verb, progress, settings
from flows.commands.data import table_file
from flows.commands.search import directory_of

if TYPE_CHECKING:
    from rich.console import Console

TASK = click.option(
    "--task", type=click.Path(path_type=Path), required=True, help="Directory of 'ssi features'."
)

FOLD = click.option(
    "--fold",
    type=click.IntRange(min=1),
    help="Fold that the model was trained in, of a task with folds; that of a run: 1.",
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

    declared = rows.find_table(table)
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
        "ssi evaluate 0123abcd --on mates --relevant mate",
    ),
)
@click.argument("model")
@click.option("--task", type=click.Path(path_type=Path), help="Directory of 'ssi features'.")
@click.option(
    "--on",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A corpus, clicks, mates or a frozen set, read with the model's own words.",
)
@click.option(
    "--relevant", type=click.Choice(["link", "mate"]), help="With --on MATES: what is looked for."
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
    out: Path | None,
    fold: int | None,
    side: str,
    queries: int,
    seed: int,
) -> Outcome:
    """Measure a model on a task, or on any texts.

    Rank loss, MAP, precision and more, each with its standard error.

    --task is for the task that the model was trained on, or one with the same words; another one
    is refused. --on reads raw texts with the model's own words, whatever it was trained on: the
    pairs of a frozen set, or those that the keyed hash of the split puts on the test side.
    """
    from flows.costs import require_evaluation
    from flows.frozen import texts_for
    from ssi_core.evaluation.evaluate import evaluate as measure
    from ssi_core.evaluation.folds import fold_of
    from ssi_core.evaluation.trec import write_trec
    from ssi_core.features.task import open_task
    from ssi_core.files import writing
    from ssi_core.models import load_model
    from ssi_core.serving.searcher import model_in

    if (task is None) == (on is None):
        raise click.UsageError("Name what to measure on: either --task or --on.")
    if on is not None and side != "test":
        raise click.UsageError("--on has a test side only.")
    fitted = load_model(model_in(directory_of(model)))
    if on is not None:
        opened = texts_for(fitted, on, queries=queries, relevant=relevant)
    else:
        assert task is not None
        opened = fold_of(open_task(task), fold)
    require_evaluation(fitted.model, opened, queries)
    with progress("evaluate") as tell:
        report = measure(
            fitted,
            opened,
            side=side,  # type: ignore[arg-type]
            queries=queries,
            seed=seed,
            threads=settings().threads or 1,
            progress=tell,
        )
    value: dict[str, Any] = {"model": model, "task": str(on or task)}
    value |= {"metrics": _metrics(report, side), "candidates": report.candidates}
    if out is not None:
        with writing(out):
            paths = write_trec(
                fitted, opened, out, side=side, queries=queries, seed=seed,  # type: ignore[arg-type]
                threads=settings().threads or 1, name=model[:32].replace(" ", "-"),
            )  # fmt: skip
        value |= dict(zip(("run", "qrels"), map(str, paths), strict=True))
    return Outcome(value, lambda console: _show_measures(console, report))


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
    """
    from flows import tracking
    from flows.costs import require_evaluation
    from ssi_core.evaluation.folds import fold_of
    from ssi_core.evaluation.trec import write_trec
    from ssi_core.features.task import open_task
    from ssi_core.files import writing
    from ssi_core.models import load_model
    from ssi_core.serving.searcher import model_in

    fitted = load_model(model_in(directory_of(run)))
    if task is None:
        task = Path(tracking.client().get_run(run).data.tags["task_path"])
    opened = fold_of(open_task(task), fold)
    require_evaluation(fitted.model, opened)
    with writing(out):
        ranking, relevant = write_trec(
            fitted, opened, out, threads=settings().threads or 1, name=run[:32]
        )
    value = {"run": str(ranking), "qrels": str(relevant)}

    def show(console: Console) -> None:
        for path in (ranking, relevant):
            console.print(str(path))

    return Outcome(value, show)


def _metrics(report: Any, side: str) -> dict[str, float]:
    found = {f"{side}/{name}": value for name, value in report.means.items()}
    return found | {f"{side}/{name}_se": value for name, value in report.errors.items()}


def _show_measures(console: Console, report: Any) -> None:
    from rich.table import Table

    table = Table("measure", box=None, pad_edge=False)
    for name in ("mean", "s.e.", "bound"):
        table.add_column(name, justify="right")
    for name, value in report.means.items():
        error, bound = report.errors.get(name), report.bounds.get(name)
        said = ["" if x is None else f"{x:.4f}" for x in (value, error, bound)]
        table.add_row(name, *said)
    console.print(table)
    if report.candidates:
        console.print(f"candidates: {report.candidates}", style="dim")
