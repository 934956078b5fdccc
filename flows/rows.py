"""One row of a table: a model on a task with a seed -> one MLflow run. No Prefect here.

Row workers import this module, so that they need not load Prefect.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np

from flows import environment, tracking
from ssi_core import store
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.experiment import Row, Table, load_table
from ssi_core.features.task import open_task
from ssi_core.threads import threads as limited

TABLES = Path(__file__).parent / "tables"


def find_table(name_or_path: str) -> Table:
    """Read a shipped table by its name, or any table by its path."""
    return load_table(name_or_path, TABLES)


def run_row(
    table: str, label: str, task: Path, seed: int, comparison: str, threads: int = 1
) -> str:
    """Train a row, measure it on the test side, and record all of it.

    An interrupted training goes on from its checkpoint when the same row is run again.

    Parameters
    ----------
    table : name or path of the table
    label : of the row
    task : its task directory
    seed : of the start and the sampling; the split has its own
    comparison : groups the runs of one table
    threads : of the training; 1 repeats bit by bit

    Returns
    -------
    id of the MLflow run
    """
    declared = find_table(table)
    row = declared.row(label)
    opened = open_task(Path(task))
    checkpoint = _checkpoint(row, opened.key, seed)
    with limited(threads), tracking.row_run(declared, row, seed, comparison, Path(task)) as run:
        # Rows of one seed draw alike, as far as their models do: differences have less noise.
        rng = np.random.default_rng([seed])
        fitted = row.ranker().fit(
            opened, rng, watch=run.watch, threads=threads, checkpoint=checkpoint
        )
        with tempfile.TemporaryDirectory(prefix="ssi-model-") as directory:
            fitted.save(Path(directory))
            run.finish_model(fitted, Path(directory))
        run.report(evaluate(fitted, opened, side="test", threads=threads))
    shutil.rmtree(checkpoint, ignore_errors=True)
    return str(run.run_id)


def _checkpoint(row: Row, task: str, seed: int) -> Path:
    said = {"model": row.model, "parameters": dict(row.parameters), "seed": seed}
    return environment.home() / "checkpoints" / store.key_of("checkpoint", said, {"task": task})
