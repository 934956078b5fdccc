"""Rows of a table on a Dask cluster, driven by one flow."""

import json

import pytest

import flows.pipeline
from flows import environment, tracking
from flows.cli import cli
from flows.pipeline import PipelineSettings, RowsFailed, pipeline
from flows.training import cluster
from flows.training.workers import Workers
from ssi_core.command.verb import run as ssi
from ssi_core.evaluation import evaluate
from ssi_core.experiment.training import SEALED
from tests.flows import direct

pytest.importorskip("distributed", reason="pip install 'ssi[cluster]'")
pytestmark = [
    pytest.mark.flow,
    pytest.mark.trains,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

WORDS = """
name = "spread"
title = "Rows on two machines"
seeds = 2

[defaults.word_pairs]
view = "raw"
budget = 1000
epoch = 500
round_budget = 100
rates = [0.1]
margin = 0.3

[[rows]]
label = "few"
model = "word_pairs"
form = "sparse"
entries = 5
start = "more"
seeds = 1

[[rows]]
label = "more"
model = "word_pairs"
form = "sparse"
entries = 20
seeds = 1

[[rows]]
label = "TF-IDF"
model = "tfidf"
seeds = 1
"""

TABLE = f"""{WORDS}
[[rows]]
label = "U'V + I"
model = "bilinear"
dimensions = 8
rates = [0.1]
epoch = 250
budget = 1000

[[rows]]
label = "chosen"
model = "auto"
seeds = 1
dimensions = 8
first = 300
budget = 4000
view = ["sublinear:10"]
diagonal_view = ["raw", "sublinear"]
margin = [0.3]
rates = [0.1]
alpha = [1.0]
negatives_power = [0.0]
"""


@pytest.fixture
def compute(flow_runs, tmp_path, task_dir, monkeypatch):
    # Workers of the cluster draw as many.
    monkeypatch.setattr(evaluate, "draw_tuples", evaluate.draw_tuples.__wrapped__)
    if flows.pipeline.Workers is not direct.Here:
        # The worker that all tests share runs kernels as Python, whose bits differ.
        monkeypatch.setattr(flows.pipeline, "Workers", Workers)

    def called(where="local", comparison="here", text=TABLE, **more):
        table = tmp_path / "spread.toml"
        table.write_text(text)
        more |= {"where": where, "comparison": comparison}
        return pipeline(PipelineSettings(table=str(table), task=str(task_dir), **more))

    return called


def results(comparison):
    """All that a comparison's runs have recorded, but times and memory."""
    found = {}
    for row in tracking.finished_rows("spread", comparison):
        model = tracking.model_directory(row.run_id)
        arrays = {file.name: file.read_bytes() for file in sorted(model.rglob("*.npy"))}
        metrics = {
            name: value
            for name, value in row.metrics.items()
            if "second" not in name and "memory" not in name
        }
        report, run = tracking.run_report(row.run_id), tracking.client().get_run(row.run_id)
        found[row.label, row.seed] = {
            "arrays": arrays,
            "metrics": metrics,
            "chosen": row.chosen,
            "curve": [(step, sorted(values)) for step, values in tracking.run_curve(row)],
            "report": report.per_query.to_dicts(),
            "means": report.means,
            "parameters": run.data.params,
            "threads": (run.data.tags["threads"], run.data.tags["reproducible"]),
        }
    return found


def left():
    rows = environment.home() / "rows"
    return sorted(file.parent for file in rows.glob(f"*/{SEALED}")) if rows.exists() else []


def test_rows_of_a_cluster_have_the_bits_of_rows_of_this_machine(compute, dask, monkeypatch):
    compute(threads=1)  # no trials in other processes
    here = results("here")
    assert len(here) == 6
    # The driver is interrupted when it has recorded one of the rows of the first wave.
    with monkeypatch.context() as patch:
        calls, record = [], cluster._record

        def recorded(*part):
            calls.append(part)
            if len(calls) > 1:
                raise KeyboardInterrupt
            record(*part)

        patch.setattr(cluster, "_record", recorded)
        with pytest.raises(KeyboardInterrupt):
            compute(dask.where, "there")
    assert len(results("there")) == 1
    whole = left()
    assert whole
    seconds = {
        json.loads((path / "row.json").read_text())["usage"]["row_seconds"] for path in whole
    }
    compute(dask.where, "there")
    there = results("there")
    assert there == here
    # What was whole was recorded as it was, and not trained again.
    rows = tracking.finished_rows("spread", "there")
    assert seconds <= {row.metrics["usage/row_seconds"] for row in rows}
    assert left() == []
    assert list((environment.home() / "checkpoints").glob("*")) == []
    runs = {row.run_id for row in rows}
    compute(dask.where, "there")
    assert {row.run_id for row in tracking.finished_rows("spread", "there")} == runs


def test_a_row_of_a_cluster_that_fails_fails_alone_and_says_why(compute, dask):
    wrong = WORDS.replace('view = "raw"', 'view = "sublinear:9"')
    with pytest.raises(RowsFailed, match=r"2 of 3 rows failed") as caught:
        compute(dask.where, "failed", wrong)
    said = str(caught.value)
    assert "more seed 0: " in said
    assert "ssi data features COLLECTION" in said
    assert "few seed 0: row 'few' starts from row 'more', which is not finished" in said
    assert "sublinear:9" in tracking.reasons("spread", "failed")["more"]
    assert len(results("failed")) == 1


def test_an_address_is_checked_before_anything_starts(compute, tmp_path, task_dir, capsys):
    with pytest.raises(ValueError, match="expected local, dask:tcp://HOST:PORT"):
        compute("dask:8786")
    table = str(tmp_path / "spread.toml")
    assert (
        ssi(cli, ["lab", "pipeline", table, "--task", str(task_dir), "--where", "tcp://a:1"]) == 2
    )
    assert "expected local, dask:tcp://HOST:PORT" in capsys.readouterr().err
