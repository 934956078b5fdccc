"""Runs of rows while they are written."""

from __future__ import annotations

import gzip
import json
import math
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any

from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run

from flows.reporting import slices
from flows.servers.processes import is_over
from flows.tracking.database import client, experiment_of, locked, plain, quiet, search
from flows.tracking.dataset import dataset_of
from flows.tracking.models import log_model
from flows.tracking.origin import code, origin, process_of, process_tag
from flows.tracking.page import describe
from flows.tracking.seals import seal_table, seal_values
from flows.tracking.trials import log_trials
from ssi_core import store
from ssi_core.evaluation.measures import in_order
from ssi_core.evaluation.report import save_report
from ssi_core.evaluation.slices import of_short
from ssi_core.experiment import Row, Table
from ssi_core.experiment.training import Curve
from ssi_core.resources import Usage
from ssi_core.types import Report

_SECONDS_BETWEEN_SENDS = 1.0


_CHOICES = frozenset(
    (
        *("rate", "margin", "init_std", "alpha", "beta", "dimensions", "expansion"),
        *("functional_rate", "choice"),
    )
)
"""Facts of a training that are settings: what it chose of several values."""


class RowRun:
    """The run of one row with one seed, while it is written."""

    def __init__(self, run: Run, *, plotted: bool = True) -> None:
        self._plotted = plotted
        self.run_id = str(run.info.run_id)
        self._experiment = run.info.experiment_id
        self._name = str(run.info.run_name)
        self.dataset: Dataset | None = None
        self._model_id: str | None = None
        self._curve: Curve = []
        self._buffer: list[Metric] = []
        self._sent = time.monotonic()
        self._usage = Usage()
        self._used: Mapping[str, float] | None = None

    def watch(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take a point of the curves; points are sent together, about once a second."""
        self._curve.append((step, dict(metrics)))
        self._add(metrics, step)
        if time.monotonic() - self._sent > _SECONDS_BETWEEN_SENDS:
            self._send()

    def facts(self, facts: Mapping[str, Any]) -> None:
        """Record what a training found: all of it as ``facts.json``.

        Settings that it chose are parameters, ``chosen_NAME``; other numbers are metrics.
        """
        settings = dict(_chosen(facts))
        if settings:
            client().log_batch(self.run_id, params=[Param(n, str(v)) for n, v in settings.items()])
        numbers = {
            name if "/" in name else f"{_section(name)}/{name}": float(value)
            for name, value in facts.items()
            if isinstance(value, int | float)
            and not isinstance(value, bool)
            and name not in _CHOICES
        }
        self._add(numbers)
        client().log_dict(self.run_id, dict(facts), "facts.json")
        if "auto" in facts:
            log_trials(self._experiment, self.run_id, facts["auto"])

    def finish_model(
        self, facts: Mapping[str, Any], languages: Collection[str], directory: Path
    ) -> None:
        """Log a model and what its training found.

        Parameters
        ----------
        facts : mapping
            What the training found.
        languages : collection of str
            Languages that the model reads.
        directory : Path
            Where it is saved.
        """
        self.facts(facts)
        self._model_id = log_model(self._experiment, self.run_id, self._name, directory, languages)

    def used(self, usage: Mapping[str, float]) -> None:
        """Record time and memory of a row that another process has trained."""
        self._used = usage

    def report(self, report: Report) -> None:
        """Record a report: ``test/NAME``, ``test_se/NAME``, slices, and the values per query.

        Measures of short queries are ``test/KIND/NAME``, such as ``test/titles/mrr``. The means are
        also those of the model that the run has logged.
        """
        means = {f"test/{name}": report.means[name] for name in in_order(report.means)}
        self._add(means, of_model=True)
        metrics = {
            **{f"test_se/{name}": value for name, value in report.errors.items()},
            **{f"test_bound/{name}": value for name, value in report.bounds.items()},
        }
        for kind, values in of_short(report).items():
            for name, value in values.items():
                error = name.endswith("_se")
                key = f"test_se/{kind}" if error else f"test/{kind}"
                metrics[f"{key}/{name.removesuffix('_se')}"] = value
        self._add(metrics)
        if report.candidates:
            client().log_param(self.run_id, "candidates", report.candidates)
        if table := slices.columns(report):
            with quiet():  # MLflow asks pandas for what pandas warns of
                client().log_table(self.run_id, table, slices.FILE)
        with tempfile.TemporaryDirectory(prefix="ssi-") as folder:
            save_report(report, Path(folder))
            client().log_artifacts(self.run_id, folder, "report")

    def keep(self, file: Path) -> None:
        """Keep a file with the run, packed."""
        with tempfile.TemporaryDirectory(prefix="ssi-") as folder:
            packed = Path(folder, f"{file.name}.gz")
            with file.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
                shutil.copyfileobj(source, target)
            client().log_artifact(self.run_id, str(packed))

    def measured(self, values: Mapping[str, float]) -> None:
        """Record measures under the names that they have."""
        self._add(values)

    def _add(self, metrics: Mapping[str, float], step: int = 0, *, of_model: bool = False) -> None:
        now, known = int(time.time() * 1000), self.dataset if of_model else None
        owner = {
            "run_id": self.run_id,
            "model_id": self._model_id if of_model else None,
            "dataset_name": known and known.name,
            "dataset_digest": known and known.digest,
        }
        self._buffer += [
            Metric(plain(name), value, now, step, **owner)
            for name, value in metrics.items()
            if math.isfinite(value)
        ]

    def _send(self) -> None:
        if self._buffer:
            client().log_batch(self.run_id, metrics=self._buffer)
        self._buffer, self._sent = [], time.monotonic()

    def _finish(self) -> None:
        used = self._used or self._usage.so_far()
        self._add({f"usage/{name}": value for name, value in used.items()})
        self._send()
        if self._curve and self._plotted:
            # Drawing takes a second to load, which rows without a training need not wait for.
            from flows.reporting import plots

            figure = plots.training_curves({self._name: self._curve})
            client().log_figure(self.run_id, figure, "plots/training.png")


@contextmanager
def row_run(
    table: Table,
    row: Row,
    seed: int,
    comparison: str,
    task: Path,
    how: Mapping[str, str] | None = None,
    *,
    plotted: bool = True,
) -> Iterator[RowRun]:
    """Open the run of a row; see `open_run`.

    Parameters
    ----------
    table, row, seed : Table, Row, int
        What is computed.
    comparison : str
        Groups the runs of one table.
    task : Path
        Directory of the task.
    how : mapping or None
        Further tags.
    plotted : bool
        Draw the curves of the training.
    """
    page = experiment_of(table.name)
    describe(page, table)
    experiment = str(page.experiment_id)
    end_abandoned(experiment)
    artefact = store.read(task, "task")
    name = row.label if seed == 0 else f"{row.label}, seed {seed}"
    tags = {
        "comparison_id": comparison,
        "kind": "row",
        "table": table.name,
        "row": row.label,
        "seed": str(seed),
        "model": row.model,
        "task": artefact.key,
        "task_path": str(Path(task).resolve()),
        "corpus": str(artefact.parents.get("collection", "")),
        "mlflow.note.content": _note(table, row),
        **(how or {}),
    }
    with open_run(experiment, name, tags, plotted=plotted) as run:
        run.dataset = _describe(run.run_id, table, row, seed, artefact)
        yield run


@contextmanager
def open_run(
    experiment: str, name: str, tags: Mapping[str, str], *, plotted: bool = True
) -> Iterator[RowRun]:
    """Open a run of an experiment id; it ends FINISHED, FAILED on an error, or KILLED on a signal.

    Parameters
    ----------
    tags : mapping
        Those of the work; who does it, and with which code, is added.
    plotted : bool
        Draw the curves of the training.
    """
    everything = {
        "code": code(),
        **origin(),
        **process_tag(),
        "mlflow.source.name": "ssi",
        **tags,
    }
    created = client().create_run(experiment, run_name=name, tags=everything)
    run = RowRun(created, plotted=plotted)
    try:
        with _terminable():
            yield run
            run._finish()
    except BaseException as error:
        stopped = isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        run._send()
        client().set_tag(run.run_id, "reason", reason[:4000])
        client().set_terminated(run.run_id, "KILLED" if stopped else "FAILED")
        raise
    seal_values(run.run_id)
    client().set_terminated(run.run_id, "FINISHED")


def _describe(run_id: str, table: Table, row: Row, seed: int, task: store.Artefact) -> Dataset:
    # Parameters, the data set and the table, all before the work, so that a failed run has them.
    client().log_dict(run_id, table.to_dict(), "table.json")
    seal_table(run_id, json.loads(json.dumps(table.to_dict())))
    ranker = row.ranker()
    values = {f.name: getattr(ranker, f.name) for f in fields(ranker)}
    values_logged = {"model": row.model, "task": row.task, "seed": seed, **values}
    if row.start is not None:
        values_logged["start"] = row.start
    parameters = [
        Param(name, json.dumps(value) if isinstance(value, tuple) else str(value))
        for name, value in values_logged.items()
    ]
    client().log_batch(run_id, params=parameters)
    data = dataset_of(f"{table.name} {row.task}", task)
    tags = [InputTag("mlflow.data.context", "training")]
    # Two rows that are the first to name a data set would both insert it.
    with locked():
        client().log_inputs(run_id, datasets=[DatasetInput(data, tags)])
    return data


def _note(table: Table, row: Row) -> str:
    # The description that MLflow shows on the page of a run.
    paper = row.paper
    printed = [
        f"{name} {value:g}" for name in ("rank_loss", "map", "p_at_10")
        if (value := paper.measure(name)) is not None
    ]  # fmt: skip
    lines = [f"**{row.label}** of *{table.title}*", row.note, table.note]
    if printed:
        lines.append(f"Printed: {', '.join(printed)}. {paper.note or ''}")
    return "\n\n".join(line for line in lines if line)


def end_abandoned(experiment: str) -> None:
    """End the runs of an experiment id whose process was killed: it left them RUNNING."""
    for run in search(experiment, 'attributes.status = "RUNNING"'):
        if (process := process_of(run)) is not None and is_over(process):
            client().set_tag(run.info.run_id, "reason", "its process was killed")
            client().set_terminated(run.info.run_id, "KILLED")


@contextmanager
def _terminable() -> Iterator[None]:
    # A terminated process says so in its run. Signals belong to the main thread.
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _chosen(facts: Mapping[str, Any], prefix: str = "chosen") -> Iterator[tuple[str, Any]]:
    """Yield the settings that a training chose, those of its parts among them."""
    for name, value in facts.items():
        if name in _CHOICES:
            yield f"{prefix}_{name}", value
        elif name == "learned_first":
            yield from _chosen(value, f"{prefix}_first")
        elif name == "parts":
            for number, part in enumerate(value, 1):
                yield from _chosen(part, f"{prefix}_part_{number}")


def _section(name: str) -> str:
    return "usage" if "second" in name or "memory" in name else "train"
