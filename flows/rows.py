"""One row of a table: a model on a task with a seed -> one MLflow run. No Prefect here.

Row workers import this module, so that they need not load Prefect.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flows import environment, tracking
from flows.board import post, row_name, watched
from ssi_core import files, store
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.folds import pooled
from ssi_core.experiment import Row, Table, load_table
from ssi_core.features.cold import training_part
from ssi_core.features.task import open_task
from ssi_core.threads import threads as limited
from ssi_core.types import BadInput, Refused

if TYPE_CHECKING:
    from ssi_core.models.base import FittedModel

TABLES = Path(__file__).parent / "tables"


def find_table(name_or_path: str, budget: int | None = None) -> Table:
    """Read a shipped table by its name, or any table by its path; see `Table.limited`."""
    found = load_table(name_or_path, TABLES)
    return found if budget is None else found.limited(budget)


def shipped_tables() -> list[str]:
    """Names of the shipped tables."""
    return sorted(path.stem for path in TABLES.glob("*.toml"))


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

    A task with folds is trained and tested in each; the report is of all their queries, and model,
    curves and facts are those of the first.

    An interrupted training goes on from its checkpoint when the same row is run again.

    Parameters
    ----------
    table : name or path of the table
    label : of the row
    task : its task directory
    seed : of the start and the sampling; the split has its own
    comparison : groups the runs of one table
    threads : of the training; 1 repeats bit by bit
    budget : triples at most, see `Table.limited`
    model : a model that gives the first values, as `tracking.model_directory` takes it; None: that
        of the row that the row starts from, if it says so

    Returns
    -------
    id of the MLflow run
    """
    declared = find_table(table, budget)
    row = declared.row(label)
    opened = open_task(Path(task))
    kept = _checkpoints(declared, row, opened.key, seed, model)
    start = _load(model) if model else _start(declared, row, seed, comparison)
    what = f"row {label!r} with seed {seed} on {task}"
    with files.writing(environment.root()), limited(threads), _alone(kept, what):
        checkpoint = _checkpoint(kept, threads)
        with tracking.row_run(declared, row, seed, comparison, Path(task)) as run:
            if model:
                tracking.client().set_tag(run.run_id, "start_version", model)
            name, most = row_name(label, seed), getattr(row.ranker(), "budget", None)
            watch = watched(run.watch, name, most)
            reports = []
            for number, fold in enumerate(opened.folds or (opened,)):
                first = number == 0
                fitted = row.ranker().fit(
                    training_part(fold),
                    # Rows of one seed draw alike, as far as their models do: less noise.
                    np.random.default_rng([seed]),
                    start=start,
                    watch=watch if first else None,
                    threads=threads,
                    checkpoint=checkpoint / f"fold-{number}" if opened.folds else checkpoint,
                )
                if first:
                    with tempfile.TemporaryDirectory(prefix="ssi-model-") as directory:
                        fitted.save(Path(directory))
                        run.finish_model(fitted, Path(directory))
                post(name, None, "measuring")
                reports.append(evaluate(fitted, fold, side="test", threads=threads))
            run.report(pooled(reports))
        shutil.rmtree(kept, ignore_errors=True)
    return str(run.run_id)


def forget(table: str, label: str, task: Path, seed: int, budget: int | None = None) -> None:
    """Remove what a row that is finished has left to go on from: it was killed at its very end."""
    declared = find_table(table, budget)
    kept = _checkpoints(declared, declared.row(label), store.read(task, "task").key, seed)
    if kept.exists():
        with _alone(kept, f"row {label!r}"):
            shutil.rmtree(kept, ignore_errors=True)


def _start(table: Table, row: Row, seed: int, comparison: str) -> FittedModel | None:
    """Load the model of the row that a row starts from, of the same comparison and seed."""
    if row.start is None:
        return None
    run = tracking.finished_run(table.name, comparison, row.start, seed)
    if run is None:
        raise BadInput(
            f"row {row.label!r} starts from row {row.start!r}, which is not finished with seed "
            f"{seed} in comparison {comparison}. 'ssi pipeline' runs both in turn."
        )
    return _load(run)


def _load(model: str) -> FittedModel:
    from ssi_core.models import load_model

    return load_model(tracking.model_directory(model))


def _checkpoints(table: Table, row: Row, task: str, seed: int, model: str | None = None) -> Path:
    chain = [[one.model, dict(one.parameters)] for one in table.chain(row)]
    said = {"model": row.model, "parameters": dict(row.parameters), "seed": seed, "chain": chain}
    said |= {"start": model} if model else {}
    return environment.home() / "checkpoints" / store.key_of("checkpoint", said, {"task": task})


def _checkpoint(kept: Path, threads: int) -> Path:
    """Where this code, with so many threads, saves its state; others' states are cleared."""
    name = f"{tracking.code()}-{threads}"
    for other in kept.glob("*"):
        if not other.name.startswith(name):
            shutil.rmtree(other)
    return kept / name


_PATIENCE = 30.0
"""Seconds in which a worker ends whose command was killed."""


@contextmanager
def _alone(kept: Path, what: str) -> Iterator[None]:
    """Keep others out of a row's checkpoint; `Refused` when another process goes on with it."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + _PATIENCE
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(store.locked(kept, what))
                break
            except Refused:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        yield
