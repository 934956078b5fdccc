"""Train a row of a table, measure it, and write all of it into a directory; without MLflow.

The directory holds the model of each fold, the report and ``row.json``: what the training found,
its curve, threads, time and memory. Whoever reads it needs nothing of the process that wrote it, so
that a row is trained where `ssi_core.parts` runs its parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ssi_core import integrity, resources, store
from ssi_core.code import digest_of
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.folds import pooled
from ssi_core.evaluation.report import load_report, save_report
from ssi_core.experiment import checkpoints
from ssi_core.experiment.tables import Row, Table
from ssi_core.models import load_model
from ssi_core.models.base import FittedModel
from ssi_core.models.measuring import evaluation_memory
from ssi_core.parts import once
from ssi_core.resources import Cost, Usage, limited
from ssi_core.selection.two_folds import two_folds
from ssi_core.tasks.task import open_task
from ssi_core.types import Report, Task, Watch

Curve: TypeAlias = list[tuple[int, dict[str, float]]]

SEALED = "sealed.json"
_FACTS, _REPORT = "row.json", "report"


@dataclass(frozen=True)
class Trained:
    """A trained and measured row, as its directory has it.

    Attributes
    ----------
    directory : Path
        Where it was written.
    facts : mapping
        What the training of the first fold found.
    languages : list of str
        Languages that its model reads.
    curve : list of tuple
        Triples learnt, and measures then by name; of the first fold.
    threads : list of int
        Threads of all attempts in turn.
    usage : mapping
        ``row_seconds`` and ``peak_memory_mib`` of the last attempt.
    """

    directory: Path
    facts: Mapping[str, Any]
    languages: list[str]
    curve: Curve
    threads: list[int]
    usage: Mapping[str, float]

    @property
    def models(self) -> list[Path]:
        """Directories of the models, one a fold."""
        return [fold_path(self.directory, number) for number in range(1, 1 + self._folds())]

    def _folds(self) -> int:
        return sum(path.is_dir() for path in self.directory.glob("fold-*"))

    def report(self) -> Report:
        """Read the report of the queries of all folds."""
        return load_report(self.directory / _REPORT)


def fold_path(directory: Path, number: int) -> Path:
    """Return the directory of the model of a fold, counted from 1."""
    return directory / f"fold-{number}"


def fold_state(state: Path, fold: int | None) -> Path:
    """Return where the state of a row is kept in a fold, counted from 0."""
    return state if fold is None else state / f"fold-{fold}"


def generator(seed: int) -> np.random.Generator:
    """Return what the training of a row draws from, the same in each fold."""
    return np.random.default_rng([seed])


def train_row(
    table: Table,
    row: Row,
    task: Task,
    seed: int,
    out: Path,
    attempt: checkpoints.Attempt,
    *,
    start: FittedModel | None = None,
    threads: int = 1,
    queries: int | None = None,
    watch: Watch | None = None,
    measuring: Callable[[], None] | None = None,
) -> Trained:
    """Train a row in each fold of a task, measure it on the test side, and write it.

    Parameters
    ----------
    table, row : Table, Row
        What is computed.
    task : Task
        With folds or without.
    seed : int
        Random seed of the start and of the sampling; the split has its own.
    out : Path
        An empty directory.
    attempt : Attempt
        Where an interrupted training goes on from.
    start : FittedModel or None
        Gives the first values.
    threads : int
        Threads of the training; 1 repeats bit by bit.
    queries : int or None
        Test queries that are measured at most; None: as many as the table says.
    watch : callable or None
        Told of each point of the curve of the first fold.
    measuring : callable or None
        Called before each evaluation.
    """
    usage, reports = Usage(), []
    curve: Curve = []
    facts: dict[str, Any] = {}

    def note(step: int, metrics: Mapping[str, float]) -> None:
        curve.append((step, {name: float(value) for name, value in metrics.items()}))
        if watch is not None:
            watch(step, metrics)

    for number, fold in enumerate(task.folds or (task,), 1):
        first = number == 1
        fitted = row.ranker().fit(
            fold,
            # Rows of one seed draw alike, as far as their models do: less noise.
            generator(seed),
            start=start,
            watch=note if first else None,
            threads=threads,
            checkpoint=fold_state(attempt.state, number - 1 if task.folds else None),
        )
        fitted.write(fold_path(out, number))
        if first:
            facts = {"facts": fitted.facts, "languages": fitted.languages}
        if measuring is not None:
            measuring()
        most = min(filter(None, (queries, table.queries)), default=None)
        reports.append(_measured(fitted, fold, table, threads, most))
    save_report(pooled(reports), out / _REPORT)
    facts |= {"curve": curve, "threads": attempt.threads, "usage": usage.so_far()}
    store.write_json(out / _FACTS, facts)
    return read_trained(out)


def _measured(
    fitted: FittedModel, task: Task, table: Table, threads: int, queries: int | None
) -> Report:
    how: dict[str, Any] = {"side": "test", "queries": queries, "threads": threads}
    if table.two_folds is None:
        return evaluate(fitted, task, **how)
    return two_folds(fitted.model.variants(fitted), task, table.two_folds, **how)


def read_trained(directory: Path) -> Trained:
    """Read what `train_row` wrote."""
    facts = json.loads((directory / _FACTS).read_text(encoding="utf-8"))
    facts["curve"] = [(step, metrics) for step, metrics in facts["curve"]]
    return Trained(directory, **facts)


def row_code(*rows: Row) -> str:
    """Return the digest of the code that rows are trained and measured by."""
    return digest_of(evaluate, pooled, two_folds, *kinds_of(*rows))


def kinds_of(*rows: Row) -> set[type]:
    """Return the classes of the models of rows, and of their parts."""
    return {kind for row in rows for kind in row.ranker().kinds()}


def cost_of(row: Row, task: Path, threads: int) -> Cost:
    """Return what a row takes: memory of its training or measurement, disk of its checkpoints."""
    opened, model = open_task(task), row.ranker()
    fit = model.cost(opened, threads)
    return Cost(max(fit.memory, evaluation_memory(model, opened)), fit.disk)


@dataclass(frozen=True)
class RowPart:
    """A row with a seed that any machine trains, which sees these places.

    Attributes
    ----------
    table : Table
        The row, and those that it starts from.
    label : str
        Label of the row.
    task : Path
        Task directory.
    seed : int
        Seed of the start and of the sampling.
    threads : int
        Threads of the training.
    path : Path
        Directory to write, named by `part_key`.
    kept : Path
        Directory of its checkpoints.
    start : Path or None
        Directory of the model that it starts from.
    """

    table: Table
    label: str
    task: Path
    seed: int
    threads: int
    path: Path
    kept: Path
    start: Path | None = None

    @property
    def row(self) -> Row:
        """The row."""
        return self.table.row(self.label)


def part_key(table: Table, row: Row, task: str, seed: int, threads: int) -> str:
    """Return the key of what a part writes: equal keys, equal directories on one thread."""
    chain = [[one.model, dict(one.parameters)] for one in (*table.chain(row), row)]
    settings = {
        "label": row.label,
        "chain": chain,
        "two_folds": table.two_folds,
        "seed": seed,
        "threads": threads,
    }
    return store.key_of("row", settings, {"task": task}, row_code(row))


def train_part(part: RowPart) -> None:
    """Train and measure a row, unless its directory is whole; a killed training goes on.

    Raises
    ------
    Refused
        It does not fit this machine, or another process trains it now.
    """
    if (part.path / SEALED).is_file():
        return
    row, what = part.row, f"row {part.label!r} with seed {part.seed} on {part.task}"
    cost = cost_of(row, part.task, part.threads)
    resources.require(
        f"training of {part.label}",
        memory=cost.memory,
        directory=part.path.parent,
        disk=cost.disk,
        remedy=resources.FEWER,
    )
    start = None if part.start is None else load_model(part.start)
    with (
        limited(part.threads),
        checkpoints.alone(part.kept, what),
        checkpoints.attempt(part.kept, row, part.threads, what) as attempt,
        once(part.path, SEALED) as (out, _),
    ):
        task = open_task(part.task)
        train_row(part.table, row, task, part.seed, out, attempt, start=start, threads=part.threads)


def open_part(part: RowPart) -> Trained:
    """Read the directory of a part; `BadInput` where a file of it is not as it was written."""
    remedy = f"Remove {part.path}, and the row is trained again."
    integrity.open_sealed(part.path, SEALED, "trained row", remedy)
    return read_trained(part.path)
