"""The command and the Python interface: the same work, the same places, the same numbers."""

from dataclasses import asdict

import pytest

import ssi_core as ssi
from flows.features import features_of
from flows.training.rows import find_table
from ssi_core.face.task import VIEWS
from ssi_core.text.fields import FIELDS

TABLE = """
name = "same"
title = "The rows of a Python program"

[tasks.pairs]
words = "all"
fields = ["text", "title", "headings", "url", "anchors"]

[[rows]]
label = "BM25"
model = "bm25"

[[rows]]
label = "SSI"
model = "bilinear"
diagonal = "learned"
diagonal_rate = 20.0
dimensions = 50
margin = 0.1
init_std = 0.01
rates = [0.03]
view = "sublinear:200@30000"
diagonal_view = "raw-sublinear"
negatives = 8
epoch = 5000
budget = 15000
patience = "passes"
decays = 2
stop_by = "map"
step = "block"
"""


@pytest.mark.trains
def test_python_finds_what_the_command_made_and_measures_the_same(
    mlflow_root, ssi_command, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    code, _, _ = ssi_command("data", "sample", "own", "--size", 300, "--out", ".")
    assert code == 0
    code, corpus, _ = ssi_command(
        "data", "ingest", "table", "articles.jsonl", "--links", "links.csv"
    )
    assert code == 0
    code, task, _ = ssi_command("data", "features", corpus["path"], "--views", ",".join(VIEWS),
                                "--words", "all", "--fields", ",".join(FIELDS))  # fmt: skip
    assert code == 0
    docs = ssi.read("articles.jsonl", links="links.csv")
    made = ssi.Task.of(docs, relevant="link")
    assert [str(docs.path), str(made.path)] == [corpus["path"], task["path"]]

    table = tmp_path / "same.toml"
    table.write_text(TABLE)
    rankers = {"BM25": ssi.BM25(), "SSI": ssi.SSI(epoch=5000, budget=15_000)}
    comparison = ssi.compare({name: one.fit(made) for name, one in rankers.items()}, made)
    for name in rankers:
        words = (
            "lab",
            "train",
            table,
            "--task",
            task["path"],
            "--row",
            name,
            "--comparison",
            "one",
        )
        code, run, _ = ssi_command(*words)
        assert code == 0
        (report,) = comparison.reports[name]
        expected = {f"test/{measure}": value for measure, value in report.means.items()}
        measured = {name: value for name, value in run["metrics"].items() if name in expected}
        assert measured == expected
    code, compared, _ = ssi_command("compare", "same", "--comparison", "one")
    tests = [test for test in compared["tests"] if test["test"] == "randomisation"]
    assert comparison.tests == [test for test in tests if test["family"] == "baseline"]

    rankers["SSI"].save(tmp_path / "model")
    index = rankers["SSI"].index(docs)
    words = ("search", tmp_path / "model", "an old car", "--index", index.path)
    code, answer, _ = ssi_command(*words)
    shown = [(hit["title"], hit["score"]) for hit in answer["results"]]
    assert [(hit.title, hit.score) for hit in index.search("an old car")] == shown
    assert len(shown) == 10


@pytest.fixture
def ssi_command(ssi):
    """The fixture `ssi`, whose name the library has here."""
    return ssi


def test_the_defaults_are_those_of_the_table_for_new_data():
    table = find_table("new-corpus")
    row = table.row("U'V + D").ranker()
    plain = asdict(ssi.SSI().ranker())
    grids = {name: row.models()[0].__dict__[name] for name in ("margin", "rates")}
    assert (plain["margin"], plain["rates"]) == (grids["margin"][1], grids["rates"][1:2])
    rest = {**asdict(row.models()[0]), "margin": plain["margin"], "rates": plain["rates"]}
    schedule = {"epoch": "passes", "patience": "passes", "decays": 2, "stop_by": "map"}
    schedule |= {"step": "block", "lsi_weight": "typed"}
    unused = {name: plain[name] for name in ("rate_by", "search_budget")}
    assert plain == {**rest, **schedule, **unused, "view": "sublinear:200@30000"}
    settings = features_of(table, "pairs", "corpus")
    chosen = ssi.SSI(auto=True).ranker()
    assert chosen.name == "auto"
    # The table's 30,000 words are those that U and V of `SSI` read.
    latent = {f"{view}@30000" if ":" in view else view for view in settings.views}
    assert set(VIEWS) == latent | chosen.views()
    assert (settings.words, settings.split, settings.pool) == (30_000, "pairs", 10_000)
