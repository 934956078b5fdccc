"""Rows of a table, and trials of `auto`, on the workers of a Dask cluster, driven by one process.

Workers know no MLflow: each writes the directory of a row below ``.ssi/rows``, which all machines
see, and this process records it as a run. A directory stays until its run is finished, so that the
same command, after a kill, records what is whole and has the rest trained.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from flows import environment, tracking
from flows.training.rows import how_of, log_trained, started_from
from flows.training.view_check import require_views
from ssi_core import files, store
from ssi_core.experiment import Row, Table, checkpoints
from ssi_core.experiment.spread import Part, Spread, TrialPart, make
from ssi_core.experiment.training import RowPart, kinds_of, open_part, part_key
from ssi_core.parts import Done, Stage, once, run_parts
from ssi_core.selection.rounds import TrialResult
from ssi_core.tasks.task import open_task


class Job(Protocol):
    """A row with a seed on a task directory; its text is its name."""

    @property
    def row(self) -> Row:
        """The row."""

    @property
    def seed(self) -> int:
        """Its seed."""

    @property
    def task(self) -> str:
        """Its task directory."""


def train_rows(
    table: Table,
    jobs: Sequence[Job],
    comparison: str,
    where: str,
    *,
    threads: int = 1,
    ended: Callable[[str, Exception | None], None],
) -> None:
    """Train rows on a cluster, and record each as a run when it has ended.

    Parameters
    ----------
    table : Table
        The table of the rows.
    jobs : sequence of Job
        Rows with their seeds; the rows that they start from are finished.
    comparison : str
        Groups the runs of one table.
    where : str
        Address of the cluster, see `ssi_core.parts.address_of`.
    threads : int
        Threads of a row.
    ended : callable
        Told the name of each job that has ended, and its error.
    """
    path = environment.home().resolve() / "rows"
    parts: dict[Path, RowPart] = {}
    names: dict[Path, str] = {}
    for job in jobs:
        try:
            part = _part_of(table, job, comparison, path, threads)
        except Exception as error:
            ended(str(job), error)
        else:
            parts[part.path], names[part.path] = part, str(job)
    tasks = {part.task / store.MANIFEST for part in parts.values()}
    spread = Spread(parts.values())
    stage: Stage[Part, TrialResult | None] = Stage(
        f"rows of {table.name}",
        make,
        path,
        sorted(tasks),
        [*kinds_of(*(job.row for job in jobs))],
    )
    with (
        files.writing(environment.root()),
        run_parts(stage, spread, where) as ended_parts,
    ):
        for done in ended_parts:
            if isinstance(done.part, TrialPart):
                spread.ended(done)
                continue
            failure = None
            try:
                _record(table, done.part, done, comparison)
            except Exception as error:
                failure = error
            ended(names[done.part.path], failure)
    shutil.rmtree(path / _STARTS, ignore_errors=True)


_STARTS = "starts"


def _part_of(table: Table, job: Job, comparison: str, path: Path, threads: int) -> RowPart:
    row, task = job.row, Path(job.task).resolve()
    key = store.read(task, "task").key
    run = started_from(table, row, job.seed, comparison)
    kept = checkpoints.checkpoints_of(table, row, key, job.seed)
    return RowPart(
        table.select([row.label]),
        row.label,
        task,
        job.seed,
        threads,
        path / part_key(table, row, key, job.seed, threads)[:24],
        kept.resolve(),
        None if run is None else _shared_model(run, path / _STARTS),
    )


def _shared_model(run: str, directory: Path) -> Path:
    """Return a copy of the model of a run, where workers see it."""
    copy = directory / run
    if not copy.is_dir():
        with once(copy, "sealed.json") as (out, _):
            shutil.copytree(tracking.model_directory(run), out / "model")
    return copy / "model"


def _record(table: Table, part: RowPart, done: Done[Any, Any], comparison: str) -> None:
    """Record a row that has ended as a run; its error becomes that of the run."""
    trained = open_part(part) if done.outcome is None else None
    how = how_of(trained.threads if trained else [part.threads], part.row)
    with tracking.row_run(table, part.row, part.seed, comparison, part.task, how=how) as run:
        if trained is None:
            require_views(table, part.row, open_task(part.task))  # its message has a command
            done.result()
        else:
            for step, metrics in trained.curve:
                run.watch(step, metrics)
            log_trained(run, trained)
            run.used(trained.usage)
    shutil.rmtree(part.path, ignore_errors=True)
