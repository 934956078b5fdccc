from __future__ import annotations

import dataclasses
import json
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from mlflow.types import DataType, Schema
from mlflow.types.schema import Array

from flows import tracking
from flows.reporting import comparisons, slices
from flows.tracking import origin
from flows.tracking.card import card_of
from flows.tracking.database import row_runs
from flows.tracking.page import address_of, first_address
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.experiment import Table, parse_table
from ssi_core.models import load_model
from ssi_core.serving.searcher import open_searcher
from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput
from tests.evaluation.toy import Lookup, random_task
from tests.flows import comparisons as written
from tests.robust.tally import attempt


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


@pytest.mark.usefixtures("mlflow_root", "drawn")
def test_a_row_is_one_flat_run_with_all_that_is_known_of_it(table, task_dir):
    row = table.row("U'V + I")
    with tracking.row_run(table, row, 0, "c", task_dir) as run:
        run.watch(0, {"train/hinge": 1.0, "val/rank_loss": 0.3})
        run.watch(500, {"train/hinge": 0.5, "val/rank_loss": 0.2})
        run.facts({"triples": 500, "seconds": 2.5, "triples_per_second": 200.0, "trials": [1, 2]})
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
    assert metrics["test_se/map"] > 0
    assert metrics["test_bound/p_at_10"] == 0.62
    assert (metrics["train/triples"], metrics["usage/seconds"]) == (500, 2.5)
    assert metrics["usage/triples_per_second"] == 200.0
    assert metrics["usage/row_seconds"] > 0
    assert metrics["usage/peak_memory_mib"] > 10
    curve = tracking.client().get_metric_history(run.run_id, "val/rank_loss")
    assert [(point.step, point.value) for point in curve] == [(0, 0.3), (500, 0.2)]
    (data,) = found.inputs.dataset_inputs
    assert data.dataset.digest == task.key[:32]
    assert json.loads(data.dataset.source)["uri"] == str(Path(task_dir).resolve())
    assert {"table.json", "facts.json", "report", "plots"} <= artifacts(run.run_id)
    assert artifacts(run.run_id, "plots") == {"plots/training.png"}


@pytest.mark.usefixtures("mlflow_root")
def test_settings_that_a_training_chose_are_parameters_beside_the_declared(table, task_dir):
    first = {"rate": 0.03, "alpha": 2.0, "triples": 5}
    facts = {"rate": 0.1, "margin": 1.0, "seconds": 2.5, "learned_first": first, "expansion": 3}
    with tracking.row_run(table, table.row("U'V + I"), 0, "c", task_dir) as run:
        run.facts({**facts, "beta": 0.5, "parts": [{"dimensions": 50}, {"alpha": 0.2}]})
    data = run_of(run.run_id).data
    chosen = {name: value for name, value in data.params.items() if name.startswith("chosen_")}
    assert chosen == {
        "chosen_rate": "0.1", "chosen_margin": "1.0", "chosen_expansion": "3", "chosen_beta": "0.5",
        "chosen_first_rate": "0.03", "chosen_first_alpha": "2.0",
        "chosen_part_1_dimensions": "50", "chosen_part_2_alpha": "0.2",
    }  # fmt: skip
    assert data.params["rates"] == "[0.1, 0.03]"
    assert not {"train/rate", "train/margin", "train/expansion", "train/beta"} & set(data.metrics)


@pytest.mark.usefixtures("mlflow_root", "drawn")
def test_trials_of_a_choice_are_runs_below_the_row_with_a_picture(table, task_dir):
    trials = [
        {
            "round": round_,
            "settings": {"margin": margin, "rates": [0.1]},
            "triples": 500,
            "mean": 0.3,
        }
        for round_, margin in ((0, 0.1), (0, 0.3), (1, 0.3))
    ]
    with tracking.row_run(table, table.rows[0], 0, "one", task_dir) as run:
        run.facts({"triples": 1500, "auto": {"measure": "map", "trials": trials}})
    where = f'tags.`mlflow.parentRunId` = "{run.run_id}"'
    below = tracking.client().search_runs([run_of(run.run_id).info.experiment_id], where)
    assert sorted((one.info.run_name, one.data.params["margin"]) for one in below) == [
        ("trial 1, round 1", "0.1"), ("trial 2, round 1", "0.3"), ("trial 3, round 2", "0.3"),
    ]  # fmt: skip
    assert all(one.data.metrics["valid/map"] == 0.3 for one in below)
    assert all(one.info.status == "FINISHED" for one in below)
    assert "trials.png" in artifacts(run.run_id)
    experiment = run_of(run.run_id).info.experiment_id
    assert [one.info.run_id for one in row_runs(experiment, "one", "FINISHED")] == [run.run_id]


@pytest.mark.usefixtures("mlflow_root")
def test_slices_are_a_table_of_a_run_and_no_metrics(table, task_dir):
    measured = evaluate(Lookup(), random_task(np.random.default_rng(0)), tuples=0)
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as run:
        run.report(measured)
    assert {name.split("/")[0] for name in run_of(run.run_id).data.metrics} == {
        "test", "test_se", "test_bound", "usage",
    }  # fmt: skip
    found = mlflow.artifacts.load_dict(f"runs:/{run.run_id}/slices.json")
    columns = slices.columns(measured)
    assert found["columns"] == list(columns)
    assert [row[0] for row in found["data"]] == columns["slice"]
    card = card_of(tracking.client().get_run(run.run_id), "the best")
    assert "| slice | queries |" in card
    assert f"| warm | {columns['queries'][columns['slice'].index('warm')]:.0f} |" in card


@pytest.mark.usefixtures("mlflow_root")
def test_the_data_set_of_a_run_says_what_is_in_it(table, task_dir):
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as run:
        pass
    (data,) = run_of(run.run_id).inputs.dataset_inputs
    schema = Schema.from_json(json.dumps(json.loads(data.dataset.schema)["mlflow_colspec"]))
    types = dict(zip(schema.input_names(), map(str, schema.input_types()), strict=True))
    assert types["queries.id"] == types["documents.title"] == str(DataType.string)
    assert types["documents.sublinear:10"] == str(Array(DataType.float))
    assert types["pairs.query"] == types["pairs.document"] == str(DataType.integer)


@pytest.mark.usefixtures("mlflow_root")
def test_an_experiment_has_a_description_and_a_view_of_the_measures(table, task_dir):
    def tags():
        return tracking.client().get_experiment_by_name(table.name).tags

    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as run:
        pass
    first = tags()
    assert table.title in first["mlflow.note.content"]
    view = json.loads(first["mlflow.sharedViewState.measures"])
    columns = json.loads(view["state"])["selectedColumns"]
    assert columns[:3] == [f"metrics.`test/{name}`" for name in table.measures]
    assert (view["name"], type(view["createdAt"])) == ("measures", int)
    state = json.loads(view["state"])
    charts = [chart["metricKey"].removeprefix("test/") for chart in state["compareRunCharts"]]
    assert charts[:4] == ["map", "ndcg_at_10", "mrr", "rank_loss"]
    assert charts.index("hubness") > charts.index("p_at_10")
    (section,) = state["compareRunSections"]
    assert section["isReordered"], "MLflow orders the charts of other sections by their names"
    assert {chart["metricSectionId"] for chart in state["compareRunCharts"]} == {section["uuid"]}
    with tracking.row_run(table, table.row("BM25"), 0, "c", task_dir):
        pass
    assert tags() == first
    other = dataclasses.replace(table, measures=("mrr",), title="Another")
    with tracking.row_run(other, table.row("BM25"), 0, "d", task_dir):
        pass
    assert "test/mrr" in tags()["mlflow.sharedViewState.measures"]
    assert "Another" in tags()["mlflow.note.content"]
    experiment = run_of(run.run_id).info.experiment_id
    assert first_address() == address_of(experiment)
    assert address_of(experiment).startswith(f"/#/experiments/{experiment}/runs?")
    assert "viewStateShareKey=measures" in address_of(experiment)


@pytest.fixture
def working_tree(tmp_path, monkeypatch):
    """A repository of git with the two packages, in place of the project's."""
    for name in ("flows", "ssi_core"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    monkeypatch.setattr(origin, "_CODE", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    origin._commit.cache_clear()
    yield tmp_path
    origin._commit.cache_clear()


def git(place, *arguments):
    known = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", "-C", str(place), *known, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("edited", [False, True], ids=["clean", "edited"])
def test_a_run_names_its_user_and_the_commit_of_the_code(edited, working_tree, monkeypatch):
    monkeypatch.setenv("LOGNAME", "somebody")
    git(working_tree, "init", "-q")
    git(working_tree, "add", ".")
    git(working_tree, "commit", "-qm", "all")
    if edited:
        (working_tree / "flows" / "__init__.py").write_text("1\n")
    assert origin.origin() == {
        "mlflow.user": "somebody",
        "mlflow.source.git.commit": git(working_tree, "rev-parse", "HEAD"),
        "mlflow.source.git.dirty": "true" if edited else "false",
    }


@pytest.mark.parametrize("where", ["nowhere", "untracked", "no git"])
def test_without_a_repository_of_its_own_the_code_has_no_commit(where, working_tree, monkeypatch):
    if where == "untracked":
        # As the project is in an environment inside another project's tree.
        git(working_tree, "init", "-q")
        git(working_tree, "commit", "-qm", "nothing", "--allow-empty")
    if where == "no git":
        monkeypatch.setenv("PATH", "")
    assert set(origin.origin()) == {"mlflow.user"}


CLEAN, CHANGED = "", "M flows/cli.py"


@pytest.mark.parametrize(
    ("answers", "dirty"),
    [
        ({"ls-files": "flows", "rev-parse": "c0ffee", "status": CLEAN}, "false"),
        ({"ls-files": "flows", "rev-parse": "c0ffee", "status": CHANGED}, "true"),
        ({"rev-parse": "c0ffee", "status": CLEAN}, None),
        ({"ls-files": "flows", "status": CLEAN}, None),
        ({"ls-files": "flows", "rev-parse": "c0ffee"}, None),
    ],
    ids=["as committed", "changed", "of another project", "without a commit", "status unknown"],
)
def test_a_commit_is_named_where_git_knows_all_of_it(answers, dirty, monkeypatch):
    monkeypatch.setattr(origin, "_git", lambda verb, *words: answers.get(verb))
    tags = {"mlflow.source.git.commit": "c0ffee", "mlflow.source.git.dirty": dirty}
    assert origin._commit.__wrapped__() == ({} if dirty is None else tags)


@pytest.mark.usefixtures("mlflow_root")
def test_a_row_bears_its_origin(table, task_dir, monkeypatch):
    monkeypatch.setenv("LOGNAME", "somebody")
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as run:
        pass
    found = run_of(run.run_id)
    assert found.data.tags.items() >= origin.origin().items()
    assert found.data.tags["mlflow.user"] == "somebody"


@pytest.mark.usefixtures("mlflow_root")
def test_what_was_written_is_read_back(table, task_dir):
    row, report = table.row("TF-IDF"), written.report(0.0)
    with tracking.row_run(table, row, 0, "c", task_dir) as run:
        run.watch(100, {"val/rank_loss": 0.5})
        run.report(report)
    assert tracking.run_table(run.run_id) == table
    [finished] = tracking.finished_rows(table.name, "c")
    assert finished.run_id == run.run_id
    found = tracking.run_report(run.run_id)
    assert tracking.run_report(run.run_id, finished.artifacts).per_query.equals(found.per_query)
    assert found.per_query.equals(report.per_query)
    assert dict(found.errors) == dict(report.errors)
    assert tracking.run_curve(finished) == [(100, {"val/rank_loss": 0.5})]
    assert comparisons.latest(table.name) == "c"


CHANGES = {
    "metric": "UPDATE latest_metrics SET value = value + 1e-9 WHERE key = 'test/map'",
    "setting": "UPDATE params SET value = 'bm25' WHERE key = 'model'",
    "tag": "UPDATE tags SET value = '1' WHERE key = 'seed'",
}


@pytest.mark.hostile("databases")
@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_value_is_named(table, task_dir, mlflow_root, what):
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as run:
        run.measured({"test/map": 0.3})
    assert len(tracking.finished_rows(table.name, "c")) == 1
    where = f" AND run_uuid = '{run.run_id}'"
    with closing(sqlite3.connect(mlflow_root / "mlruns" / "mlflow.db")) as connection, connection:
        assert connection.execute(CHANGES[what] + where).rowcount == 1
    message = f"{run.run_id}: what MLflow's database says of it was changed .*ssi ops restore"
    with pytest.raises(BadInput, match=message), attempt():
        tracking.finished_rows(table.name, "c")


@pytest.mark.hostile("databases")
def test_a_lost_tag_is_named(table, task_dir, mlflow_root):
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as run:
        run.measured({"test/map": 0.3})
    lost = (
        f"DELETE FROM tags WHERE key IN ('row', 'mlflow.ssi.digest') AND run_uuid = '{run.run_id}'"
    )
    with closing(sqlite3.connect(mlflow_root / "mlruns" / "mlflow.db")) as connection, connection:
        assert connection.execute(lost).rowcount == 2
    with pytest.raises(BadInput, match="its tag 'row' is lost"), attempt():
        tracking.finished_rows(table.name, "c")


@pytest.mark.hostile("databases")
@pytest.mark.parametrize(
    ("old", "new"),
    [(b"latest_metrics", b"latest_metrjcs"), (b"SQLite format 3", b"SQLite format 7")],
    ids=["table", "head"],
)
def test_a_damaged_database_is_named(table, task_dir, mlflow_root, tmp_path, monkeypatch, old, new):
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir):
        pass
    copy = tmp_path / "mlflow.db"
    copy.write_bytes((mlflow_root / "mlruns" / "mlflow.db").read_bytes().replace(old, new))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{copy}")
    with pytest.raises(BadInput, match=f"{copy}: .*ssi ops restore"), attempt():
        tracking.finished_rows(table.name, "c")


@pytest.mark.usefixtures("mlflow_root")
def test_a_table_that_was_changed_is_named(table, task_dir):
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as run:
        pass
    path = Path(run_of(run.run_id).info.artifact_uri.removeprefix("file://")) / "table.json"
    path.write_text(path.read_text().replace("Rows of made-up", "Rows of other"))
    with pytest.raises(BadInput, match=r"its table\.json was changed"):
        tracking.run_table(run.run_id)


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
    client.set_tag(killed.run_id, "mlflow.ssi.process", over)
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
        run.finish_model(fitted.facts, fitted.languages, tmp_path / "any name")
        run.report(written.report(0.0))
    directory = tracking.searchable_directory(run.run_id)
    assert load_model(directory).model == fitted.model
    text = " ".join(task.documents.views["raw"].words[:3])
    expected = open_searcher(directory).search([text], 3)[0].hits
    (output,) = run_of(run.run_id).outputs.model_outputs
    logged = tracking.client().get_logged_model(output.model_id)
    assert logged.experiment_id == run_of(run.run_id).info.experiment_id
    of_model = {metric.key: metric for metric in logged.metrics}
    assert set(of_model) == {f"test/{name}" for name in written.report(0.0).means}
    (data,) = run_of(run.run_id).inputs.dataset_inputs
    assert of_model["test/map"].dataset_name == data.dataset.name
    assert of_model["test/map"].dataset_digest == data.dataset.digest
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
def test_logged_models_are_named_as_their_rows(table, task_dir, tmp_path):
    row = dataclasses.replace(table.row("TF-IDF"), label="U'V: 1.5 % / all")
    table = dataclasses.replace(table, rows=(row,))
    fitted = row.ranker().fit(open_task(task_dir), np.random.default_rng(0))
    fitted.save(tmp_path / "saved")
    names = []
    for seed in (0, 1):
        with tracking.row_run(table, row, seed, "c", task_dir) as run:
            run.finish_model(fitted.facts, fitted.languages, tmp_path / "saved")
        (output,) = run_of(run.run_id).outputs.model_outputs
        names.append(tracking.client().get_logged_model(output.model_id).name)
    assert names == ["U\N{PRIME}V_ 1_5 _ _ all", "U\N{PRIME}V_ 1_5 _ _ all, seed 1"]


@pytest.mark.usefixtures("mlflow_root")
def test_tags_of_the_code_alone_are_hidden(table, task_dir):
    with tracking.row_run(table, table.row("TF-IDF"), 0, "c", task_dir) as run:
        pass
    tags = run_of(run.run_id).data.tags
    shown = {name for name in tags if not name.startswith("mlflow.")}
    assert not {name for name in shown if "digest" in name or "process" in name}


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
