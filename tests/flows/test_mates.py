"""Tasks and tables of mates, from the command line and in the pipeline."""

from pathlib import Path

import numpy as np
import pytest

from ssi_core.evaluation.comparison import value_text
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput

TABLE = """
name = "across"
title = "Two languages"
source = "made up"
measures = ["mrr", "hubness"]

[tasks.links]
relevant = "translation > link"

[tasks.mates]
relevant = "translation"

[[rows]]
label = "TF-IDF"
model = "tfidf"
view = "dictionary.raw"
task = "links"

[[rows]]
label = "CL-LSI"
model = "cl_lsi"
dimensions = 8
task = "mates"

[[rows]]
label = "CL-LSI dot"
model = "cl_lsi"
dimensions = 8
measure = "dot"
task = "mates"
"""


@pytest.fixture
def ssi(ssi, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    return ssi


@pytest.mark.trains
def test_a_task_of_mates_and_a_search_in_two_languages(ssi, mates, tmp_path):
    views = ("--views", "raw,dictionary.raw")
    code, found, _ = ssi("data", "features", mates, "--relevant", "translation > link", *views)
    assert code == 0
    assert found["counts"]["query_texts"]["documents"] == 197
    task = open_task(Path(found["path"]))
    model = Bilinear(dimensions=8, diagonal="none", rates=(0.1,), epoch=500, budget=2000)
    model.fit(task, np.random.default_rng(0)).save(tmp_path / "model")
    index = ("--task", found["path"], "--out", tmp_path / "index")
    assert ssi("data", "index", tmp_path / "model", *index)[0] == 0
    for text, language in (("ĵboats1 ĵboats2", "eo"), ("boats1 boats2", "en")):
        code, answer, _ = ssi("search", tmp_path / "model", text, "--language", language)
        assert code == 0
        assert len(answer["results"]) == 10
    code, error, _ = ssi("search", tmp_path / "model", "bateau", "--language", "fr")
    assert (code, "queries in eo" in error["error"]["message"]) == (3, True)


def test_what_does_not_go_together_is_told(ssi, mates):
    assert ssi("data", "features", mates, "--relevant", "translation", "--cold", "0.1")[0] == 3
    code, error, _ = ssi("data", "features", mates)
    assert (code, "Say so: --relevant translation or" in error["error"]["message"]) == (3, True), (
        error
    )


def test_a_tiny_rank_loss_has_more_decimals():
    shown = [value_text("rank_loss", mean, 0.00001) for mean in (0.000011, 0.011, 0.0)]
    assert shown == ["0.0011 ±.0010", "1.10 ±.00", "0.00 ±.00"]


@pytest.mark.flow
def test_a_table_of_mates(flow_runs, mates, tmp_path):
    from flows.pipeline import run_pipeline
    from flows.reporting.compare import compare
    from flows.reporting.report import markdown

    (tmp_path / "across.toml").write_text(TABLE)
    with pytest.raises(BadInput, match="ssi data ingest mates"):
        run_pipeline(table=str(tmp_path / "across.toml"), texts=["enwiki.xml.bz2"])
    found = run_pipeline(table=str(tmp_path / "across.toml"), corpus=str(mates))
    assert len(found["rows"]) == 3
    assert all(0 < row["metrics"]["test/mrr"] <= 1 for row in found["rows"])
    assert all("test/hubness" in row["metrics"] for row in found["rows"])
    page = markdown(compare("across"))
    assert "| hubness |" in page


@pytest.mark.flow
def test_a_table_of_mates_on_both_editions_of_the_sample(flow_runs, tmp_path):
    from flows.pipeline import run_pipeline

    (tmp_path / "across.toml").write_text(TABLE)
    found = run_pipeline(table=str(tmp_path / "across.toml"), sample=100, rows=["TF-IDF"])
    (row,) = found["rows"]
    assert row["label"] == "TF-IDF"
    assert row["metrics"]["test/map"] > 0.02
