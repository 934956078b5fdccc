"""Results of the benchmarks as a run of MLflow's experiment ``benchmarks``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlflow.entities import Metric, Param

from benchmarks.timing import Row
from flows import environment, tracking
from flows.servers.processes import own_name
from flows.tracking.database import plain

EXPERIMENT = "benchmarks"


def log(rows: Sequence[Row], before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Write a run with ``ratio/NAME``, ``ours/NAME``, ``peer/NAME`` of each row; return its id.

    Parameters
    ----------
    rows : what was measured
    before, after : versions, processor and load, which become parameters
    """
    environment.prepare()
    tracking.ready()
    experiment = tracking.experiment_id(EXPERIMENT)
    tracking.end_abandoned(experiment)
    client = tracking.client()
    tags = {"kind": "benchmarks", "process": own_name(), "code": tracking.code()}
    run = client.create_run(experiment, tags=tags)
    metrics = [
        Metric(plain(f"{kind}/{row.benchmark.replace('/', 'per')}"), value, run.info.start_time, 0)
        for row in rows
        for kind in ("ratio", "ours", "peer", "floor", "goal")
        if (value := getattr(row, kind)) is not None
    ]
    said = {**before, "load_after": after["load"]}
    parameters = [Param(name, value) for name, value in said.items()]
    client.log_batch(run.info.run_id, metrics=metrics, params=parameters)
    client.set_terminated(run.info.run_id, "FINISHED")
    return str(run.info.run_id)
