from __future__ import annotations

import dataclasses
import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from flows import comparisons, tracking
from ssi_core.experiment import Table, parse_table
from ssi_core.features.task import open_task
from ssi_core.models import load_model
from ssi_core.serving.searcher import open_searcher
from ssi_core.types import BadInput
from tests.flows import comparisons as written


@pytest.fixture
def table(request) -> Table:
    """A table of one test's own, so that tests do not meet in an experiment."""
    return dataclasses.replace(parse_table(written.TABLE), name=request.node.name[:60])


def run_of(run_id):
    return tracking.client().get_run(run_id)


def artifacts(run_id, path=None):
    return {file.path for file in tracking.client().list_artifacts(run_id, path)}


def test_the_address_is_a_database_under_the_root_unless_said(monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking.tracking_uri() == f"sqlite:///{tmp_path}/mlruns/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///other/runs.db")
    assert tracking.tracking_uri() == f"sqlite:///{tmp_path}/other/runs.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////data/runs.db")
    assert tracking.tracking_uri() == "sqlite:////data/runs.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:5000")
    assert tracking.tracking_uri() == "http://127.0.0.1:5000"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "./mlruns")
    with pytest.raises(BadInput, match="no longer keeps runs in folders"):
        tracking.tracking_uri()


@pytest.mark.usefixtures("mlflow_root")
def test_a_row_is_one_flat_run_with_all_that_is_known_of_it(table, task_dir):
    row = table.row("U'V + I")
    with tracking.row_run(table, row, 0, "c", task_dir) as run:
        run.watch(0, {"train/hinge": 1.0, "val/rank_loss": 0.3})
        run.watch(500, {"train/hinge": 0.5, "val/rank_loss": 0.2})
        run.facts({"rate": 0.1, "seconds": 2.5, "triples_per_second": 200.0, "trials": [1, 2]})
        run.report(written.report(0.1))
    found = run_of(run.run_id)
    task = open_task(task_dir)
    assert (found.info.status, found.info.run_name) == ("FINISHED", "U'V + I")
    tags = found.data.tags
    assert "mlflow.parentRunId" not in tags
    assert (tags["comparison_id"], tags["row"], tags["seed"]) == ("c", "U'V + I", "0")
    assert (tags["kind"], tags["model"], tags["task"]) == ("row", "bilinear", task.key)
    assert len(tags["code"]) == 16
    parameters = found.data.params
    assert (parameters["model"], parameters["seed"]) == ("bilinear", "0")
    assert (parameters["budget"], parameters["rates"]) == ("1000", "[0.1, 0.03]")
    metrics = found.data.metrics
    assert metrics["test/map"] == pytest.approx(written.report(0.1).means["map"])
    assert metrics["test/map_se"] > 0
    assert metrics["test/p_at_10_bound"] == 0.62
    assert (metrics["train/rate"], metrics["perf/seconds"]) == (0.1, 2.5)
    assert metrics["perf/triples_per_second"] == 200.0
    assert metrics["perf/row_seconds"] > 0
    assert metrics["perf/peak_memory_mib"] > 10
    curve = tracking.client().get_metric_history(run.run_id, "val/rank_loss")
    assert [(point.step, point.value) for point in curve] == [(0, 0.3), (500, 0.2)]
    (data,) = found.inputs.dataset_inputs
    assert task.key.startswith(data.dataset.digest)
    assert json.loads(data.dataset.source)["uri"] == str(Path(task_dir).resolve())
    assert {"table.json", "facts.json", "report", "plots"} <= artifacts(run.run_id)
    assert artifacts(run.run_id, "plots") == {"plots/training.png"}


@pytest.mark.usefixtures("mlflow_root")
def test_what_was_written_is_read_back(table, task_dir):
    row, report = table.row("TF-IDF"), written.report(0.0)
    with tracking.row_run(table, row, 0, "c", task_dir) as run:
        run.watch(100, {"val/rank_loss": 0.5})
        run.report(report)
    assert tracking.run_table(run.run_id) == table
    found = tracking.run_report(run.run_id)
    assert found.per_query.equals(report.per_query)
    assert dict(found.errors) == dict(report.errors)
    assert tracking.run_curve(run.run_id) == [(100, {"val/rank_loss": 0.5})]
    assert comparisons.latest(table.name) == "c"


@pytest.mark.usefixtures("mlflow_root")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ZeroDivisionError("a row broke"), "FAILED"),
        (BadInput("a row is wrong"), "FAILED"),
        (KeyboardInterrupt(), "KILLED"),
    ],
)
def test_a_row_that_raises_says_so_and_is_to_be_done_again(error, status, table, task_dir):
    def train(run):
        run.watch(7, {"val/rank_loss": 0.4})
        raise error

    row = table.row("TF-IDF")
    with pytest.raises(type(error)), tracking.row_run(table, row, 0, "c", task_dir) as run:
        train(run)
    found = run_of(run.run_id)
    assert found.info.status == status
    assert found.data.tags["reason"].startswith(type(error).__name__)
    assert found.data.metrics["val/rank_loss"] == 0.4
    assert tracking.finished_run(table.name, "c", "TF-IDF", 0) is None


@pytest.mark.usefixtures("mlflow_root")
def test_a_terminated_process_ends_its_run_as_killed(table, task_dir):
    before = signal.getsignal(signal.SIGTERM)
    with (
        pytest.raises(SystemExit) as error,
        tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as run,
    ):
        os.kill(os.getpid(), signal.SIGTERM)
    assert error.value.code == 128 + signal.SIGTERM
    assert run_of(run.run_id).info.status == "KILLED"
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.usefixtures("mlflow_root")
def test_a_row_with_a_wrong_hyperparameter_is_a_failed_run(table, task_dir):
    row = dataclasses.replace(table.row("TF-IDF"), parameters={"veiw": "raw"})
    with (
        pytest.raises(BadInput, match="Did you mean 'view'"),
        tracking.row_run(table, row, 0, "c", task_dir),
    ):
        pytest.fail("the body must not run")
    (run,) = tracking.client().search_runs(
        [tracking.client().get_experiment_by_name(table.name).experiment_id]
    )
    assert run.info.status == "FAILED"
    assert "Did you mean 'view'" in run.data.tags["reason"]


@pytest.mark.usefixtures("mlflow_root")
def test_a_finished_row_is_found_by_comparison_label_and_seed(table, task_dir):
    row = table.row("U'V + I")
    assert tracking.finished_run(table.name, "c", row.label, 1) is None
    with tracking.row_run(table, row, 1, "c", task_dir) as run:
        pass
    assert run_of(run.run_id).info.run_name == "U'V + I, seed 1"
    assert tracking.finished_run(table.name, "c", row.label, 1) == run.run_id
    assert tracking.finished_run(table.name, "c", row.label, 0) is None
    assert tracking.finished_run(table.name, "c", "TF-IDF", 1) is None
    assert tracking.finished_run(table.name, "d", row.label, 1) is None


@pytest.mark.usefixtures("mlflow_root")
def test_a_run_whose_process_was_killed_is_ended_by_the_next(table, task_dir, over):
    client = tracking.client()
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as killed:
        pass
    client.update_run(killed.run_id, status="RUNNING")
    client.set_tag(killed.run_id, "process", over)
    other = table.row("U'V + I")
    with tracking.row_run(table, other, 0, "d", task_dir) as going:
        assert run_of(killed.run_id).info.status == "KILLED"
        with tracking.row_run(table, other, 1, "e", task_dir):
            assert run_of(going.run_id).info.status == "RUNNING"
    assert run_of(going.run_id).info.status == "FINISHED"


@pytest.mark.usefixtures("mlflow_root")
def test_a_logged_model_ranks_raw_text_and_carries_its_measures(table, task_dir, tmp_path):
    task, row = open_task(task_dir), table.row("TF-IDF")
    fitted = row.ranker().fit(task, np.random.default_rng(0))
    fitted.save(tmp_path / "any name")
    with tracking.row_run(table, row, 0, "c", task_dir) as run:
        run.finish_model(fitted, tmp_path / "any name")
        run.report(written.report(0.0))
    directory = tracking.model_directory(run.run_id)
    assert load_model(directory).model == fitted.model
    text = " ".join(task.documents.views["raw"].words[:3])
    expected = open_searcher(directory).search([text], 3)[0].hits
    (output,) = run_of(run.run_id).outputs.model_outputs
    logged = tracking.client().get_logged_model(output.model_id)
    assert logged.experiment_id == run_of(run.run_id).info.experiment_id
    assert "test/map" in {metric.key for metric in logged.metrics}
    served = mlflow.pyfunc.load_model(f"models:/{output.model_id}")
    found = served.predict(pd.DataFrame({"query": [text]}), params={"k": 3})
    assert found["titles"][0] == [hit.title for hit in expected]
    tracking.client().create_registered_model("ssi-test")
    source = f"models:/{output.model_id}"
    version = tracking.client().create_model_version("ssi-test", source, run.run_id)
    tracking.client().set_registered_model_alias("ssi-test", "champion", version.version)
    assert tracking.model_directory("models:/ssi-test@champion") == directory
    assert tracking.model_directory(f"models:/ssi-test/{version.version}") == directory
    assert tracking.model_directory(str(directory)) == directory
    assert tracking.model_directory(str(directory.parent)) == directory


@pytest.mark.usefixtures("mlflow_root")
@pytest.mark.parametrize("name", ["0123456789abcdef", "models:/none@champion", "models:/none/1"])
def test_a_model_that_is_not_there_is_bad_input(name):
    with pytest.raises(BadInput, match="no model"):
        tracking.model_directory(name)


@pytest.mark.usefixtures("mlflow_root")
def test_an_unknown_experiment_names_the_known_ones(table, task_dir):
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir):
        pass
    with pytest.raises(BadInput, match=table.name):
        comparisons.latest("no such experiment")


@pytest.mark.usefixtures("mlflow_root")
def test_ids_of_comparisons_differ(table):
    first, second = (tracking.new_comparison_id(table) for _ in range(2))
    assert first != second
    assert first.startswith(table.name)


def test_processes_that_create_the_database_side_by_side_make_one(mlflow_store):
    assert {path.name for path in (mlflow_store / "mlruns").glob("*.db")} == {"mlflow.db"}
    with closing(sqlite3.connect(mlflow_store / "mlruns" / "mlflow.db")) as database:
        named = database.execute("SELECT name FROM experiments WHERE name = 'Default'").fetchall()
    assert named == [("Default",)]
