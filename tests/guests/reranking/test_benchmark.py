"""What a reranker gains and costs, as an entry of a result file."""

import json
import sys

import pytest

from benchmarks import reranked
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.face.models import Ranker
from ssi_core.face.task import Task
from ssi_core.guests.reranking.face import Reranker, gain
from ssi_core.tasks.task import build_task, open_task
from tests.corpora import topical, write_corpus


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A task, a model of two stages, and what `ssi rank rerank fit --json` says of it."""
    path = tmp_path_factory.mktemp("reranked")
    write_corpus(path / "corpus", *topical())
    build_task(path / "corpus", path / "task")
    task = Task.open(path / "task")
    model = Reranker("rankrls").behind("tfidf", "in_degree", depth=10, queries=60).fit(task)
    model.save(path / "model")
    model.index(task, out=path / "model" / "index")
    facts = model.fitted_.facts
    fit = {
        "path": str(path / "model"),
        "ranker": "rankrls",
        "features": facts["features"],
        "queries": facts["ranker_queries"],
        "measures": gain(model, task).frame.to_dicts(),
    }
    (path / "fit.json").write_text(json.dumps(fit))
    return path


def call(monkeypatch, path, name, *options):
    given = [str(path / "result.json"), name, str(path / "fit.json"), str(path / "task")]
    given += ["--queries", "3", "--repeats", "2", *options]
    monkeypatch.setattr(sys, "argv", ["reranked", *given])
    reranked.main()
    return json.loads((path / "result.json").read_text())


def test_an_entry_has_the_measures_and_the_costs_of_a_model(monkeypatch, place):
    result = call(monkeypatch, place, "first")
    fit = json.loads((place / "fit.json").read_text())
    assert result["first"]["measures"] == fit["measures"]
    assert result["first"]["features"] == fit["features"]
    cost = result["first"]["cpu_ms_of_a_query"]
    assert set(cost) == {"first stage", "features", "ranker"}
    assert cost["first stage"] > 0
    assert "alone" not in result["first"]
    both = call(monkeypatch, place, "second")
    assert both["first"] == result["first"]
    assert both["second"]["measures"] == fit["measures"]


def test_a_feature_alone_has_the_measures_of_its_model(monkeypatch, place):
    entry = call(monkeypatch, place, "third", "--alone", "in_degree")["third"]
    alone, whole = entry["alone"]
    fitted = Ranker("in_degree").fit(Task.open(place / "task")).fitted_
    by_itself = evaluate(fitted, open_task(place / "task"))
    assert alone["map"] == pytest.approx(by_itself.means["map"])
    fit = json.loads((place / "fit.json").read_text())
    assert whole["map"] == fit["measures"][1]["map"]
    assert 0 < whole["map_p"] <= 1
