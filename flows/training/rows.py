"""Training and measurement of one row of a table, as one MLflow run; without Prefect.

Row workers import this module, so that they need not load Prefect.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flows import environment, tracking
from flows.reporting.shipped_tables import find_table
from flows.training.board import post, row_name, watched
from flows.training.view_check import require_views
from ssi_core import files, store
from ssi_core.experiment import Row, Table, checkpoints
from ssi_core.experiment.training import Trained, train_row
from ssi_core.resources import limited
from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput

if TYPE_CHECKING:
    from ssi_core.models.base import FittedModel

QUERIES_OF_PART, VALIDATIONS_OF_PART = 1_000, 5
"""Test queries that a part of a training is measured on at most, and its validations.

More of either takes longer than such a part learns; the gate measures on its frozen set.
"""


def run_row(
    table: str,
    label: str,
    task: Path,
    seed: int,
    comparison: str,
    threads: int = 1,
    budget: int | None = None,
    model: str | None = None,
) -> str:
    """Train a row, measure it on the test side, and record all of it.

    A task with folds is trained and tested in each; the report is of all their queries, and curves
    and facts are those of the first. The models of all folds are kept.

    An interrupted training goes on from its checkpoint when the same row is run again by code that
    computes the same. With other threads it goes on with newly seeded samplers, and the tag
    ``threads`` of the run says so: "2, then 1" (see `checkpoints`).

    Parameters
    ----------
    table : str
        Name or path of the table.
    label : str
        Of the row.
    task : Path
        Its task directory.
    seed : int
        Of the start and the sampling; the split has its own.
    comparison : str
        Groups the runs of one table.
    threads : int
        Of the training; 1 repeats bit by bit.
    budget : int or None
        Triples at most, see `Table.limited`.
    model : str or None
        A model that gives the first values, as `tracking.model_directory` takes it; None: that of
        the row that the row starts from, if it says so.

    Returns
    -------
    id of the MLflow run
    """
    declared = find_table(table, budget)
    row = declared.row(label)
    is_part = bool(model and budget)
    if model and budget:
        row = seldom_validated(row, budget)
    opened = open_task(Path(task))
    kept = checkpoints.checkpoints_of(declared, row, opened.key, seed, model)
    first = model or started_from(declared, row, seed, comparison)
    start = _load(first) if first else None
    what = f"row {label!r} with seed {seed} on {task}"
    with ExitStack() as around:
        around.enter_context(files.writing(environment.root()))
        around.enter_context(limited(threads))
        around.enter_context(checkpoints.alone(kept, what))
        attempt = around.enter_context(checkpoints.attempt(kept, row, threads, what))
        how = how_of(attempt.threads, row) | ({"start_version": model} if model else {})
        with tracking.row_run(
            declared, row, seed, comparison, Path(task), how=how, plotted=model is None
        ) as run:
            require_views(declared, row, opened)
            name, most = row_name(label, seed), row.ranker().most_triples(opened)
            out = Path(around.enter_context(tempfile.TemporaryDirectory(prefix="ssi-row-")))
            trained = train_row(
                declared,
                row,
                opened,
                seed,
                out,
                attempt,
                start=start,
                threads=threads,
                queries=QUERIES_OF_PART if is_part else None,
                watch=watched(run.watch, name, most),
                measuring=lambda: post(name, None, "measuring"),
            )
            log_trained(run, trained)
    return str(run.run_id)


def seldom_validated(row: Row, budget: int) -> Row:
    """Return a row that is validated `VALIDATIONS_OF_PART` times, where it was more often."""
    epoch = row.parameters.get("epoch")
    if not isinstance(epoch, int):
        return row
    epoch = max(epoch, -(-budget // VALIDATIONS_OF_PART))
    return replace(row, parameters={**row.parameters, "epoch": epoch})


def log_trained(run: tracking.RowRun, trained: Trained) -> None:
    """Record models, facts and report of a row in its run."""
    first, *others = trained.models
    run.finish_model(trained.facts, trained.languages, first)
    for number, model in enumerate(others, 2):
        tracking.log_fold(run.run_id, number, model)
    run.report(trained.report())


def how_of(threads: Sequence[int], row: Row) -> dict[str, str]:
    """Return the threads that make a run, "2, then 1", and whether its bits repeat, as tags."""
    reproducible = checkpoints.reproducible(threads) and row.ranker().repeats
    return {
        "threads": ", then ".join(map(str, threads)),
        "reproducible": "yes" if reproducible else "no",
    }


def forget(table: str, label: str, task: Path, seed: int, budget: int | None = None) -> None:
    """Remove what a row that is finished has left to go on from: it was killed at its very end."""
    declared = find_table(table, budget)
    row = declared.row(label)
    kept = checkpoints.checkpoints_of(declared, row, store.read(task, "task").key, seed)
    path = kept / checkpoints.code_of(row)
    if path.exists():
        with checkpoints.alone(kept, f"row {label!r}"):
            checkpoints.remove(path)


def started_from(table: Table, row: Row, seed: int, comparison: str) -> str | None:
    """Return the run of the row that a row starts from, of the same comparison and seed."""
    if row.start is None:
        return None
    run = tracking.finished_run(table.name, comparison, row.start, seed)
    if run is None:
        raise BadInput(
            f"row {row.label!r} starts from row {row.start!r}, which is not finished with seed "
            f"{seed} in comparison {comparison}. 'ssi lab pipeline' runs both in turn."
        )
    return run


def _load(model: str) -> FittedModel:
    from ssi_core.models import load_model

    return load_model(tracking.model_directory(model))
