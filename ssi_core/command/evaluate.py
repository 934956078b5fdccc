"""The verb that measures a trained model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ssi_core.command.fields import DIRECTORY, NEW_DIRECTORY, PATH, argument, option
from ssi_core.command.models import (
    Recorder,
    directory_of,
    evaluation_run,
    fold_directory,
    training_of,
)
from ssi_core.command.options import FOLD, MAX_QUERIES, SEED
from ssi_core.command.verb import Outcome, progress, settings, verb

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.models.base import FittedModel
    from ssi_core.types import Task


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """Settings of ``ssi lab evaluate``."""

    model: str = argument("MODEL")
    task: Path | None = option(
        None, "Task to measure on: a directory that 'ssi data features' wrote.", type=PATH
    )
    on: Path | None = option(
        None,
        "Collection or frozen set to measure on. Its texts are read with the words of the model.",
        type=DIRECTORY,
    )
    relevant: Literal["click", "translation > link", "translation", "link", "judgement"] | None = (
        option(
            None,
            "Relation to look for. Only with --on. [default: judgements if there are any, else the "
            "first of these that the collection has]",
        )
    )
    by: str | None = option(
        None,
        "Also measure each value of a column of the queries, such as category or language; "
        "document.COLUMN names a column of the documents. Only with --on.",
        metavar="COLUMN",
    )
    out: Path | None = option(
        None, "Directory to write run.trec and qrels.trec into.", type=NEW_DIRECTORY
    )
    fold: int | None = FOLD
    side: Literal["test", "valid"] = option("test", "Part of the split to measure on.")
    queries: int | None = MAX_QUERIES
    seed: int = SEED
    hubs: bool = option(
        False,
        "Also measure hubs: the skewness of how often a document is among the 10 nearest of "
        "another one, by the document vectors of the model. On a task with folds, in the first.",
    )


@verb(
    EvaluateSettings,
    examples=(
        "ssi lab evaluate models:/ssi@champion --task task",
        "ssi lab evaluate 0123abcd --task cranfield-task --fold 1",
        "ssi lab evaluate models:/ssi@champion --on other-corpus --out trec",
        "ssi lab evaluate 0123abcd --on kyoto --relevant translation",
        "ssi lab evaluate 0123abcd --on corpus --by category",
    ),
)
def evaluate(given: EvaluateSettings) -> Outcome:
    """Measure a model on a task or on other texts.

    Rank loss, MAP, precision and other measures are printed, each with its standard error.

    --task takes the task that the model was trained on, or one with the same vocabulary. If it has
    folds, each query is ranked by the model of the fold that tests it.

    --on takes a frozen set or a collection, whatever the model was trained on: all pairs of the
    set, or the judgements of the collection, or else those of its pairs that the split assigns to
    the test part. Texts are read with the vocabulary of the model, and the share of unknown words
    is shown; texts in a language that the model does not read are refused. With the workflow, such
    a measurement is a run of the MLflow experiment "evaluations".
    """
    from ssi_core.command.measures import metrics, show_measures, value_cells
    from ssi_core.command.text import plain_table
    from ssi_core.evaluation.evaluate import evaluate as measure
    from ssi_core.evaluation.folds import pooled
    from ssi_core.evaluation.slices import by_value
    from ssi_core.evaluation.trec import write_folds
    from ssi_core.files import writing
    from ssi_core.models import load_model
    from ssi_core.serving.searcher import model_in
    from ssi_core.tasks.labels import FEWEST
    from ssi_core.tasks.other_data import Unseen, texts_for

    if (given.task is None) == (given.on is None):
        raise click.UsageError("Name what to measure on: either --task or --on.")
    if given.on is not None and (given.side != "test" or given.fold is not None):
        raise click.UsageError("--on has a test side only, and no folds.")
    if given.on is None and (given.by or given.relevant):
        raise click.UsageError("--by and --relevant go with --on.")
    how: dict[str, Any] = {"side": given.side, "queries": given.queries, "seed": given.seed}
    how["threads"] = settings().threads or 1
    unseen: Unseen | None = None
    recorded: AbstractContextManager[Recorder | None] = nullcontext()
    if given.on is not None:
        fitted = load_model(model_in(directory_of(given.model)))
        _require_unseen_queries(given.model, given.on)
        unseen = texts_for(
            fitted, given.on, queries=given.queries, relevant=given.relevant, by=given.by
        )
        options = {
            "relevant": given.relevant,
            "by": given.by,
            "queries": given.queries,
            "seed": given.seed,
        }
        recorded = evaluation_run(given.model, given.on, options)

    def parts() -> Iterator[tuple[FittedModel, Task]]:
        if unseen is not None:
            return _affordable([(fitted, unseen.task)], given.queries)
        assert given.task is not None
        return folds(given.model, given.task, given.fold, given.queries)

    value: dict[str, Any] = {"model": given.model, "task": str(given.on or given.task)}
    with recorded as run:
        with progress("evaluate") as on_progress:
            report = pooled([measure(*part, **how, progress=on_progress) for part in parts()])
        if given.out is not None:
            with writing(given.out):
                paths = write_folds(
                    parts(), given.out, **how, name=given.model[:32].replace(" ", "-")
                )
            value |= dict(zip(("run", "qrels"), map(str, paths), strict=True))
        if unseen is not None:
            value["unknown_words"] = unseen.unknown
        if run is not None and unseen is not None:
            run.report(report)
            run.measured({f"unknown/{name}": share for name, share in unseen.unknown.items()})
            for path in () if given.out is None else paths:
                run.keep(path)
            value["run_id"] = run.run_id
    value |= {"metrics": metrics(report, given.side), "candidates": report.candidates}
    if given.hubs:
        value["hubs"] = _hubs(*next(iter(parts())))
    values = {} if given.by is None else by_value(report, given.by)
    value |= {"by": {"column": given.by, "values": values}} if given.by else {}

    def show(console: Console) -> None:
        show_measures(console, report)
        if unseen is not None:
            shares = ", ".join(f"{side} {share:.1%}" for side, share in unseen.unknown.items())
            console.print(f"words unknown to the model: {shares}", style="dim")
        if given.hubs:
            skewness = ", ".join(f"{name} {value['hubs'][name]:.2f}" for name in ("cosine", "dot"))
            console.print(f"hubs among the documents, S_Nk of the 10 nearest: {skewness}")
        if "run_id" in value:
            console.print(f"run {value['run_id']} of evaluations", style="dim")
        if given.by is not None:
            console.print(f"\nby {given.by}", style="bold")
            console.print(plain_table(*value_cells(values), padding=0))
            console.print(f"values with fewer than {FEWEST} queries are one row", style="dim")

    return Outcome(value, show)


def _hubs(fitted: FittedModel, task: Task) -> dict[str, float]:
    """Return the skewness of the graph of a model's documents, by each way to compare them."""
    from ssi_core.evaluation.hubs import SIMILARITIES, hubs

    vectors, threads = fitted.embed_documents(task.documents), settings().threads or 1
    return {name: hubs(vectors, similarity=name, threads=threads).skewness for name in SIMILARITIES}


def _require_unseen_queries(model: str, on: Path) -> None:
    """Refuse a judged collection that a run has learnt from: most of its queries are not new."""
    from ssi_core import store
    from ssi_core.collection import JUDGEMENT, KIND, open_collection
    from ssi_core.types import BadInput

    artefact = store.read(on)
    if artefact.kind != KIND or JUDGEMENT not in open_collection(on).relevant:
        return
    trained = training_of(model)
    if artefact.key == trained.get("corpus"):
        raise BadInput(
            f"{on}: {model} has learnt from its judgements. 'ssi lab evaluate {model} --task "
            f"{trained['task_path']}' measures each query with the model of the fold that tests it."
        )


def folds(
    model: str, task: Path, fold: int | None, queries: int | None = None
) -> Iterator[tuple[FittedModel, Task]]:
    """Yield the folds of a task that are asked for, each with the model that was trained in it."""
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
    models = (load_model(fold_directory(model, number)) for number in numbers)
    return _affordable(zip(models, tasks, strict=True), queries)


def _affordable(
    parts: Iterable[tuple[FittedModel, Task]], queries: int | None
) -> Iterator[tuple[FittedModel, Task]]:
    """Yield models and tasks; refuse those that memory is too small for."""
    from ssi_core.models.measuring import require_evaluation

    for fitted, task in parts:
        require_evaluation(fitted.model, task, queries)
        yield fitted, task
