"""Runs that were written: rows of a comparison, their reports, and its summary."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlflow.exceptions import MlflowException

from flows.tracking.database import (
    client,
    experiment_id,
    known_experiment,
    row_runs,
    search,
)
from flows.tracking.models import local
from flows.tracking.origin import origin, process_tag
from flows.tracking.seals import check_table, check_values, tag_of
from ssi_core import files
from ssi_core.evaluation.report import load_report
from ssi_core.experiment import Table, parse_table
from ssi_core.experiment.training import Curve
from ssi_core.types import BadInput, Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FinishedRow:
    """A finished run of a row, as MLflow has it.

    Attributes
    ----------
    chosen : mapping
        Settings that its training chose.
    data : mapping
        Keys of the task and of the corpus that it is made of.
    artifacts : str
        Address of its files.
    """

    label: str
    seed: int
    run_id: str
    metrics: Mapping[str, float]
    chosen: Mapping[str, str]
    data: Mapping[str, str]
    artifacts: str


def new_comparison_id(table: Table) -> str:
    """Make the id of a new comparison: the time, and four random digits."""
    return f"{table.name}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def finished_run(experiment: str, comparison: str, label: str, seed: int) -> str | None:
    """Return the id of the finished run of a row with a seed; None: it is still to be done."""
    if client().get_experiment_by_name(experiment) is None:
        return None
    for row in finished_rows(experiment, comparison):
        if row.label == label and row.seed == seed:
            return row.run_id
    return None


def finished_rows(experiment: str, comparison: str) -> list[FinishedRow]:
    """Return the finished rows of a comparison, the newest run of each row and seed."""
    rows: dict[tuple[str, int], FinishedRow] = {}
    for run in row_runs(known_experiment(experiment), comparison, "FINISHED"):
        check_values(run)
        label, seed = tag_of(run, "row"), int(tag_of(run, "seed"))
        chosen = {
            name.removeprefix("chosen_"): value
            for name, value in run.data.params.items()
            if name.startswith("chosen_")
        }
        data = {kind: run.data.tags[kind] for kind in ("task", "corpus") if kind in run.data.tags}
        row = FinishedRow(
            label,
            seed,
            run.info.run_id,
            dict(run.data.metrics),
            chosen,
            data,
            str(run.info.artifact_uri),
        )
        rows.setdefault((label, seed), row)
    return list(rows.values())


def reasons(experiment: str, comparison: str) -> dict[str, str]:
    """Return why rows of a comparison failed, by their labels; the newest run of a row says it."""
    newest: dict[str, str] = {}
    for run in row_runs(known_experiment(experiment), comparison, "FAILED"):
        newest.setdefault(tag_of(run, "row"), run.data.tags.get("reason", ""))
    return newest


def run_table(run_id: str) -> Table:
    """Return the table that a run was a row of, as it was then."""
    with _artifact(run_id, "table.json") as path:
        written = files.read_object(
            path, "Restore a backup (ssi ops restore), or train the row again."
        )
    check_table(client().get_run(run_id), written)
    return parse_table(written, f"run {run_id}")


def run_report(run_id: str, artifacts: str | None = None) -> Report:
    """Return the report of a finished run; ``artifacts`` is the address of its files, if known."""
    with _artifact(run_id, "report", artifacts) as path:
        return load_report(path)


def run_curve(run: FinishedRow) -> Curve:
    """Return the curves of a run: (step, metrics) by step; final values are no part of them."""
    points: dict[int, dict[str, float]] = {}
    curves = ("train/", "val/", "curve/")
    for name in (name for name in run.metrics if name.startswith(curves)):
        for metric in client().get_metric_history(run.run_id, name):
            if metric.step > 0:
                points.setdefault(metric.step, {})[name] = metric.value
    return sorted(points.items())


def log_summary(
    experiment: str,
    comparison: str,
    *,
    title: str,
    note: str,
    facts: Mapping[str, str],
    files: Mapping[str, str],
    figures: Mapping[str, Figure],
) -> str:
    """Write the summary run of a comparison, in place of an earlier one; return its id.

    Parameters
    ----------
    facts : mapping
        Tags of the run; not metrics, whose charts would push those of the rows off the page.
    files, figures : mapping
        Path in the run's artifacts -> content.
    """
    where = experiment_id(experiment)
    earlier = search(where, f'tags.kind = "summary" and tags.comparison_id = "{comparison}"')
    tags = {
        "comparison_id": comparison,
        "kind": "summary",
        "table": experiment,
        "mlflow.source.name": "ssi",
        "mlflow.note.content": note,
        **process_tag(),
        **origin(),
        **facts,
    }
    run_id = str(client().create_run(where, run_name=title, tags=tags).info.run_id)
    for path, text in files.items():
        client().log_text(run_id, text, path)
    for path, figure in figures.items():
        client().log_figure(run_id, figure, path)
    client().set_terminated(run_id, "FINISHED")
    for run in earlier:
        client().delete_run(run.info.run_id)
    return run_id


@contextmanager
def _artifact(run_id: str, path: str, artifacts: str | None = None) -> Iterator[Path]:
    """Give a file or directory of a run where it lies, or a copy if it is behind a server."""
    try:
        here = local(artifacts or str(client().get_run(run_id).info.artifact_uri)) / path
        if here.exists():
            yield here
            return
        with tempfile.TemporaryDirectory(prefix="ssi-") as folder:
            yield Path(client().download_artifacts(run_id, path, folder))
    except (MlflowException, OSError) as error:
        raise BadInput(f"run {run_id} has no {path}: {error}") from error
