"""Flow ``train``: one row of a table (task x model x seed) -> one MLflow run."""

from __future__ import annotations

from pathlib import Path

from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows import tracking
from flows.reporting.shipped_tables import find_table
from flows.settings import TrainSettings
from flows.steps import begin, worth_retrying
from flows.training.board import posted, row_name
from flows.training.costs import require_rows
from flows.training.rows import forget, run_row
from flows.training.workers import Workers
from ssi_core.experiment import Row

__all__ = ["TrainSettings", "form_of", "run_row", "train", "train_row"]


def form_of(row: Row) -> str:
    """Name what decides which kernels a row compiles."""
    return f"{row.model} {row.parameters.get('form', '')} {row.parameters.get('diagonal', '')}"


@task(task_run_name="{label} seed {seed}", cache_policy=NO_CACHE, retry_condition_fn=worth_retrying)
def train_row(
    workers: Workers,
    table: str,
    label: str,
    task: str,
    seed: int,
    comparison: str,
    threads: int,
    budget: int | None = None,
) -> str:
    """Train and measure a row in a worker process, unless it is there; return its run's id."""
    declared = find_table(table)
    if run_id := tracking.finished_run(declared.name, comparison, label, seed):
        forget(table, label, Path(task), seed, budget)
        return str(run_id)
    form = form_of(declared.row(label))
    with posted(row_name(label, seed)):
        return workers.run(
            form, run_row, table, label, Path(task), seed, comparison, threads, budget
        )


@flow(name="train", flow_run_name="{settings.row} seed {settings.seed}")
def train(settings: TrainSettings) -> str:
    """Train one row, measure it on the test side; return the id of its MLflow run."""
    begin()
    table = find_table(settings.table)
    row = table.row(settings.row)
    tracking.ready()
    comparison = settings.comparison or tracking.new_comparison_id(table)
    require_rows([(row, Path(settings.task))], workers=1, threads=settings.threads)
    with Workers(1, settings.threads) as workers:
        return train_row(
            workers,
            settings.table,
            settings.row,
            settings.task,
            settings.seed,
            comparison,
            settings.threads,
        )
