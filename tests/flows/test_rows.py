"""One row of a table, from the task directory to its run."""

import numpy as np
import polars as pl
import pytest

from flows import board, tracking
from flows.cli import cli
from flows.command import run as ssi
from flows.rows import run_row
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.features.task import build_task, open_task
from ssi_core.models import MODELS
from ssi_core.models.tfidf import TfIdf
from tests.corpora import write_collection

TABLE = """
name = "judged"
title = "Judged queries"
measures = ["map", "ndcg_at_10"]

[tasks.queries]
words = "all"
split = "queries"

[[rows]]
label = "TF-IDF"
model = "tfidf"
"""


@pytest.mark.usefixtures("mlflow_root")
def test_a_row_on_folds_reports_every_query_once(tmp_path, capsys):
    build_task(write_collection(tmp_path / "corpus"), tmp_path / "task", split="queries")
    (tmp_path / "judged.toml").write_text(TABLE)
    run = run_row(str(tmp_path / "judged.toml"), "TF-IDF", tmp_path / "task", 0, "c")
    task = open_task(tmp_path / "task")
    frames = []
    for fold in task.folds:
        fit = MODELS["tfidf"]().fit(fold, np.random.default_rng(0))
        frames.append(evaluate(fit, fold, tuples=0).per_query)
    expected = pl.concat(frames).sort("query")
    report = tracking.run_report(run)
    assert report.per_query["id"].to_list() == task.queries.ids.to_list()
    assert report.per_query.select("id", "map", "ndcg_at_10").equals(
        expected.select("id", "map", "ndcg_at_10")
    )
    assert report.means["map"] == pytest.approx(expected["map"].mean())
    # Its model is that of the first fold, whose queries are all that it can be measured on.
    for verb in (["evaluate", run, "--task", str(tmp_path / "task")], ["export-trec", run]):
        where = ["--out", str(tmp_path / "trec")] if verb[0] == "export-trec" else []
        assert ssi(cli, [*verb, *where]) == 3
        assert "Name its fold, 1 to 5 (--fold)" in capsys.readouterr().err
        assert ssi(cli, [*verb, *where, "--fold", "1"]) == 0
        assert ssi(cli, [*verb, *where, "--fold", "6"]) == 3
        assert "folds are 1 to 5" in capsys.readouterr().err
    lines = (tmp_path / "trec" / "run.trec").read_text().splitlines()
    assert {line.split()[0] for line in lines} == set(frames[0]["id"])
    logged = tracking.client().get_run(run).data.metrics
    assert logged["test/ndcg_at_10"] == pytest.approx(expected["ndcg_at_10"].mean())


@pytest.mark.usefixtures("mlflow_root")
def test_a_row_posts_how_far_its_training_is(task_dir, tmp_path, monkeypatch, capsys):
    posts, fit = [], TfIdf.fit

    def trained(self, task, rng, **how):
        how["watch"](500, {"val/rank_loss": 0.1})
        return fit(self, task, rng, **how)

    monkeypatch.setattr(board, "post", lambda *line: posts.append(line))
    monkeypatch.setattr("flows.rows.post", board.post)
    monkeypatch.setattr(TfIdf, "fit", trained)
    (tmp_path / "posts.toml").write_text(
        TABLE.replace('split = "queries"', "").replace("judged", "posts")
    )
    how = ["--task", str(task_dir), "--row", "TF-IDF", "--seed", "2"]
    assert ssi(cli, ["train", str(tmp_path / "posts.toml"), *how]) == 0
    assert posts == [
        ("TF-IDF, seed 2", None, "begins"),
        ("TF-IDF, seed 2", None, "500 triples, validation loss 10.00 %"),
        ("TF-IDF, seed 2", None, "measuring"),
    ]
