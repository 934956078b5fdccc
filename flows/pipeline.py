"""Flow ``pipeline``: ingest -> features -> every row of a table -> comparison.

Rows run side by side in long-lived worker processes; where cores are left, trials of `auto` before
them. A row that fails fails alone: the others go
on, and the flow fails at its end with the list. A row that has nothing to learn from on its task is
left out, which is no failure. Run again with the same table, input and code, it
does only what is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from prefect import allow_failure, flow, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture, as_completed
from prefect.task_runners import ThreadPoolTaskRunner

from flows import environment, tracking
from flows.features import features_of, make_task
from flows.ingest import ingest_source, settings_of_files
from flows.reporting.result_file import comparison_of
from flows.reporting.shipped_tables import find_table
from flows.servers.server import Server
from flows.settings import PipelineSettings
from flows.sources import IngestSettings, MatesSettings
from flows.steps import begin, worth_retrying
from flows.tracking.database import written_alone
from flows.train import form_of, train_row
from flows.training.board import posted
from flows.training.cluster import train_rows
from flows.training.costs import require_rows
from flows.training.tally import Tally
from flows.training.trials import do_trials
from flows.training.workers import Workers
from ssi_core import store
from ssi_core.experiment import Row, Table
from ssi_core.parts import LOCAL
from ssi_core.types import BadInput, Inapplicable, Refused


class RowsFailed(RuntimeError):
    """Some rows failed; the message lists them, ``comparison`` has the finished ones, if any."""

    def __init__(self, message: str, comparison: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.comparison = comparison


@dataclass(frozen=True)
class Job:
    """A row with a seed on a task directory."""

    row: Row
    seed: int
    task: str

    def __str__(self) -> str:
        return f"{self.row.label} seed {self.seed}"


_DEFAULTS = PipelineSettings()


@flow(
    name="pipeline",
    flow_run_name="{settings.table}",
    task_runner=ThreadPoolTaskRunner(max_workers=environment.cores()),  # type: ignore[arg-type]
)
def pipeline(settings: PipelineSettings = _DEFAULTS) -> dict[str, Any]:
    """Compute a table: ingest, features, every row with every seed, comparison.

    Returns the comparison, as ``ssi compare --json`` prints it.
    """
    begin()
    with environment.threads(settings.threads):
        return _pipeline(settings)


def _pipeline(settings: PipelineSettings) -> dict[str, Any]:
    declared = find_table(settings.table, settings.budget)
    table = declared.select(settings.rows) if settings.rows else declared
    tasks = make_tasks(table, settings)
    tracking.ready()
    tracking.end_abandoned(tracking.experiment_id(table.name))
    comparison = settings.comparison or comparison_id(declared, tasks)
    with written_alone(comparison):
        return _rows(table, tasks, comparison, settings)


def _rows(
    table: Table, tasks: Mapping[str, str], comparison: str, settings: PipelineSettings
) -> dict[str, Any]:
    jobs = [
        Job(row, seed, tasks[row.task])
        for row in table.rows
        for seed in table.seeds_of(row, settings.seeds)
    ]
    failed: dict[str, BaseException] = {}
    trained: list[Trained] = []
    for wave in in_waves(jobs, table):
        failed |= run_jobs(wave, settings, comparison, trained)
    if len(failed) == len(jobs):
        raise failure(failed, len(jobs))
    result = compare_rows(table.name, comparison, wait_for=ended(trained))
    asked = {row.label for row in table.rows}
    result["missing"] = [label for label in result["missing"] if label in asked]
    if broken := {n: e for n, e in failed.items() if not isinstance(e, Inapplicable)}:
        error = failure(broken, len(jobs))
        raise RowsFailed(str(error), result) from error
    return result


def make_tasks(table: Table, settings: PipelineSettings) -> dict[str, str]:
    """Make the task directories that the rows of a table need: name -> path."""
    given = [name for name in ("corpus", "texts", "task") if getattr(settings, name)]
    if len(given) > 1:
        raise BadInput(f"{' and '.join(given)} are given; name one input.")
    needed = sorted({row.task for row in table.rows})
    if settings.task:
        if len(needed) > 1:
            raise BadInput(
                f"table {table.name!r} has the tasks {', '.join(needed)}; one task directory "
                "cannot stand for all. Give a corpus."
            )
        return {needed[0]: str(store.read(Path(settings.task), "task").path)}
    across = any(table.tasks[name].across for name in needed)
    corpus = settings.corpus or _source(table, settings, across=across)
    return {
        name: make_task(features_of(table, name, corpus, where=settings.where)) for name in needed
    }


def _source(table: Table, settings: PipelineSettings, *, across: bool) -> str:
    """Make the collection of texts or of the sample."""
    sample: dict[str, Any] = {"seed": settings.sample_seed, "processes": settings.threads}
    if across and settings.texts:
        raise BadInput(
            f"table {table.name!r} is about two languages, which files do not pair; make mates "
            "of two corpora (ssi data ingest mates) and name them (--corpus)."
        )
    if across:
        return ingest_source(MatesSettings(documents=settings.sample, **sample))
    if settings.texts:
        return ingest_source(settings_of_files(settings.texts, settings.threads, settings.where))
    return ingest_source(IngestSettings(documents=settings.sample, **sample))


def comparison_id(table: Table, tasks: Mapping[str, str]) -> str:
    """Name the comparison of a table on tasks, so that the same work finds its finished rows."""
    keys = {name: store.read(Path(path)).key for name, path in tasks.items()}
    return comparison_of(table, keys)


class Trained(NamedTuple):
    """A row whose task has been submitted."""

    job: Job
    future: PrefectFuture[str]


def ended(trained: Iterable[Trained]) -> list[Any]:
    """Return what a task waits for that runs after some rows, whether they failed or not."""
    return [allow_failure(one.future) for one in trained]


def run_jobs(
    jobs: Sequence[Job], settings: PipelineSettings, comparison: str, trained: list[Trained]
) -> dict[str, BaseException]:
    """Run rows side by side on the cores that are to be used; return the failures by name.

    Parameters
    ----------
    jobs : sequence of Job
        Rows with their seeds; the rows that they start from have ended.
    settings : PipelineSettings
        Budget and threads.
    comparison : str
        Comparison that they belong to.
    trained : list of Trained
        Rows that have ended; those of this call are added. A row is shown after the one that it
        starts from.
    """
    table = find_table(settings.table, settings.budget)
    finished = {(row.label, row.seed) for row in tracking.finished_rows(table.name, comparison)}
    to_do = [job for job in jobs if (job.row.label, job.seed) not in finished]
    tally = Tally(len(jobs))
    if settings.where == LOCAL:
        _train_here(jobs, to_do, settings, comparison, trained, tally)
    else:
        for job in jobs:
            if job not in to_do:
                tally.ended(str(job), None)
        if to_do:
            train_on_cluster(table, to_do, settings, comparison, tally)
    return tally.failed


def _train_here(
    jobs: Sequence[Job],
    to_do: Sequence[Job],
    settings: PipelineSettings,
    comparison: str,
    trained: list[Trained],
    tally: Tally,
) -> None:
    """Train rows in processes of this machine, each in a task of its own."""
    n = side_by_side(settings, len(jobs))
    require_rows(
        [(job.row, Path(job.task)) for job in to_do],
        workers=min(n, len(to_do)),
        threads=settings.row_threads,
    )
    table, cores = find_table(settings.table, settings.budget), side_by_side(settings, sys.maxsize)
    do_trials(table, to_do, threads=settings.row_threads, processes=cores)
    with Workers(n, settings.row_threads) as workers:
        futures: dict[PrefectFuture[str], Job] = {
            train_row.submit(
                workers,
                settings.table,
                job.row.label,
                job.task,
                job.seed,
                comparison,
                settings.row_threads,
                settings.budget,
                return_state=False,
                wait_for=ended(one for one in trained if one.job.row.label == job.row.start),
            ): job
            for job in in_turn(jobs, n)
        }
        trained += [Trained(job, future) for future, job in futures.items()]
        for future in as_completed(list(futures)):
            result = cast(Any, future).result(raise_on_failure=False)
            error = result if isinstance(result, BaseException) else None
            tally.ended(str(futures[future]), error)


@task(
    name="train the rows on a cluster",
    task_run_name="train the rows of {table.name} on a cluster",
    cache_policy=NO_CACHE,
    retry_condition_fn=worth_retrying,
)
def train_on_cluster(
    table: Table, jobs: Sequence[Job], settings: PipelineSettings, comparison: str, tally: Tally
) -> None:
    """Train rows on the workers of a Dask cluster: one task, whatever becomes of the workers."""
    threads = settings.row_threads
    train_rows(table, jobs, comparison, settings.where, threads=threads, ended=tally.ended)


def in_waves(jobs: Sequence[Job], table: Table) -> list[list[Job]]:
    """Part jobs so that a row's start is in an earlier part than the row."""
    depth = {row.label: len(table.chain(row)) for row in table.rows}
    return [
        [job for job in jobs if depth[job.row.label] == wave]
        for wave in range(1 + max(depth.values()))
    ]


def side_by_side(settings: PipelineSettings, jobs: int) -> int:
    """Return how many rows run at a time: their threads are no more than the cores to use."""
    cores = min(settings.threads or environment.cores(), environment.cores())
    return min(max(1, cores // settings.row_threads), jobs)


def in_turn(jobs: Sequence[Job], workers: int) -> list[Job]:
    """Order jobs so that each worker, taking every n-th, mostly meets rows of one form."""
    by_form = sorted(jobs, key=lambda job: form_of(job.row))
    size = -(-len(jobs) // workers)
    shares = [by_form[i : i + size] for i in range(0, len(jobs), size)]
    return [share[i] for i in range(size) for share in shares if i < len(share)]


def failure(failed: Mapping[str, BaseException], jobs: int) -> Exception:
    """Return one exception for all failed rows, of their type where it is the same."""
    reasons = "; ".join(f"{name}: {error}" for name, error in failed.items())
    message = f"{len(failed)} of {jobs} rows failed: {reasons}"
    for kind in (BadInput, Refused):
        if all(isinstance(error, kind) for error in failed.values()):
            return kind(message)
    return RowsFailed(message)


@task(
    name="compare the rows", task_run_name="compare the rows of {experiment}", cache_policy=NO_CACHE
)
def compare_rows(experiment: str, comparison: str) -> dict[str, Any]:
    """Compare the rows of a comparison, in MLflow and on the page of this run."""
    from flows.reporting.compare import compare, summarise

    with posted("comparison", "tests and pictures"):
        result: dict[str, Any] = compare(experiment, comparison)
        summarise(experiment, comparison, result)
    rows = [{"row": r["label"], "seed": r["seed"], **r["metrics"]} for r in result["rows"]]
    create_table_artifact(rows, key="comparison", description=f"{experiment} {comparison}")
    return result


def run_pipeline(**settings: Any) -> dict[str, Any]:
    """Run the flow with a Prefect server for its length, unless the user has one.

    Parameters
    ----------
    **settings : object
        Fields of `PipelineSettings`.

    Returns
    -------
    the comparison
    """
    checked = PipelineSettings(**settings)
    with Server() as server:
        with posted("Prefect", "its server starts"):
            server.ready()
        return pipeline(checked)
