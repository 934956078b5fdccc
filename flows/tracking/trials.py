"""Trials of the model `auto`: a run for each, below the run of its row, and what mattered."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from mlflow.entities import Metric, Param

from flows.tracking.database import client

FIGURE = "trials.png"


def log_trials(experiment: str, run_id: str, choice: Mapping[str, Any]) -> None:
    """Write the trials of a choice, whose facts are those of `ssi_core.models.choice.auto`.

    Parameters
    ----------
    experiment, run_id : str
        Of the row.
    choice : mapping
        ``measure`` and ``trials``.
    """
    now = int(time.time() * 1000)
    for number, trial in enumerate(choice["trials"], 1):
        tags = {"mlflow.parentRunId": run_id, "kind": "trial"}
        name = f"trial {number}, round {trial['round'] + 1}"
        run = client().create_run(experiment, tags=tags, run_name=name)
        client().log_batch(
            run.info.run_id,
            params=[Param(name, str(value)) for name, value in trial["settings"].items()],
            metrics=[
                Metric(f"valid/{choice['measure']}", trial["mean"], now, 0),
                Metric("training/triples", trial["triples"], now, 0),
            ],
        )
        client().set_terminated(run.info.run_id)
    if choice["trials"]:
        from flows.reporting import plots  # takes a second to load

        figure = plots.effects(choice["trials"], choice["measure"])
        client().log_figure(run_id, figure, FIGURE)
