"""Trials of `auto` side by side, on the cores of this machine that no other choice needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from flows import environment
from flows.training.cluster import Job
from ssi_core import files, resources, store
from ssi_core.experiment import Table, checkpoints
from ssi_core.experiment.spread import Part, Spread, make
from ssi_core.experiment.training import RowPart, cost_of
from ssi_core.models.choice.auto import Auto
from ssi_core.parts import Stage, run_parts
from ssi_core.selection.rounds import TrialResult


def do_trials(table: Table, jobs: Sequence[Job], *, threads: int, processes: int) -> None:
    """Do the trials of rows of `auto`, which then find them, if there are fewer rows than cores.

    Parameters
    ----------
    table : Table
        The table of the rows.
    jobs : sequence of Job
        Rows with their seeds; those of other models are left alone.
    threads : int
        Threads of a row.
    processes : int
        Trials side by side at most; fewer where memory is for fewer.
    """
    rows = [_part_of(table, job, threads) for job in jobs if isinstance(job.row.ranker(), Auto)]
    if not rows:
        return
    most = max(cost_of(one.row, one.task, threads).memory for one in rows)
    processes = min(processes, resources.memory_available() // max(1, most))
    if processes > len(rows):
        try_settings(table.name, rows, processes)


def _part_of(table: Table, job: Job, threads: int) -> RowPart:
    task = Path(job.task).resolve()
    key = store.read(task, "task").key
    kept = checkpoints.checkpoints_of(table, job.row, key, job.seed).resolve()
    only = table.select([job.row.label])
    return RowPart(only, job.row.label, task, job.seed, threads, kept, kept)


@task(
    name="do the trials of auto",
    task_run_name="do the trials of auto of {table}, {processes} side by side",
    cache_policy=NO_CACHE,
)
def try_settings(table: str, rows: Sequence[RowPart], processes: int) -> None:
    """Do the trials of rows in processes of this machine."""
    spread = Spread(rows, trials_only=True)
    stage: Stage[Part, TrialResult | None] = Stage(f"trials of {table}", make, environment.home())
    with (
        files.writing(environment.root()),
        run_parts(stage, spread, processes=processes) as ended,
    ):
        for done in ended:
            spread.ended(done)
