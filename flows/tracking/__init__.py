"""Everything that is said to MLflow, in one place.

Runs are flat, one per row and seed, grouped by the tag ``comparison_id``, with one summary run:
MLflow's pages collapse nested runs. A run is always named by its id, never by what is "active", so
that threads and processes can write side by side.
"""

from flows.tracking.database import client, experiment_id, ready, tracking_uri
from flows.tracking.evaluations import evaluation_run
from flows.tracking.experiments import experiment_run
from flows.tracking.folds import fold_directory, log_fold
from flows.tracking.indexes import searchable_directory
from flows.tracking.models import model_directory, training_of
from flows.tracking.origin import code
from flows.tracking.rows import RowRun, end_abandoned, row_run
from flows.tracking.runs import (
    FinishedRow,
    finished_rows,
    finished_run,
    log_summary,
    new_comparison_id,
    reasons,
    run_curve,
    run_report,
    run_table,
)
from ssi_core.experiment.training import Curve

__all__ = [
    "Curve",
    "FinishedRow",
    "RowRun",
    "client",
    "code",
    "end_abandoned",
    "evaluation_run",
    "experiment_id",
    "experiment_run",
    "finished_rows",
    "finished_run",
    "fold_directory",
    "log_fold",
    "log_summary",
    "model_directory",
    "new_comparison_id",
    "ready",
    "reasons",
    "row_run",
    "run_curve",
    "run_report",
    "run_table",
    "searchable_directory",
    "tracking_uri",
    "training_of",
]
