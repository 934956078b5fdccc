"""Nights of retraining: who becomes champion, who does not, and what stops a night."""

from __future__ import annotations

import contextlib

import pytest

from flows import environment
from ssi_core import store
from ssi_core.types import BadInput
from tests.corpora import topical, write_corpus

pytestmark = pytest.mark.flow

TABLE = """
name = "nights"
title = "A model that knows nothing, and one that does"

[tasks.links]
words = "all"

[[rows]]
label = "nothing"
model = "bilinear"
form = "low_rank"
diagonal = "none"
dimensions = 2
rates = [0.0001]
budget = 2
epoch = 2
search_budget = 2

[[rows]]
label = "TF-IDF"
model = "tfidf"
"""


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """A corpus, one that has grown, and one with half of the data missing."""
    place = tmp_path_factory.mktemp("nights")
    texts, links = topical(240)
    made = {}
    for name, n in (("first", 200), ("grown", 240), ("halved", 100)):
        kept = [link for link in links if max(link) < n]
        made[name] = str(write_corpus(place / name, texts[:n], kept))
    return made


@pytest.fixture
def night(prefect_server, row_worker, corpora, tmp_path_factory, monkeypatch, request):
    """Run a night of a registered model that is one test's own."""
    from flows import retrain

    table = tmp_path_factory.mktemp("table") / "nights.toml"
    table.write_text(TABLE)
    monkeypatch.setattr(retrain, "Workers", lambda *sizes: contextlib.nullcontext(row_worker))

    def run(corpus, row, **how):
        return retrain.run_retrain(
            corpus=corpora[corpus], row=row, table=str(table), name=request.node.name[:40], **how
        )

    return run


def test_a_better_one_takes_over_and_a_worse_one_does_not(night):
    from flows import tracking
    from flows.tracking import decisions, registry

    first = night("first", "nothing")
    assert (first["outcome"], first["version"], first["number"]) == ("promote", "1", 1)
    assert "first" in first["reason"]

    second = night("first", "TF-IDF")
    assert (second["outcome"], second["version"], second["number"]) == ("promote", "2", 2)
    assert second["reason"].startswith("all queries: better, map")
    assert "| all queries |" in second["report"]
    assert "| short_query |" in second["report"]
    decided = tracking.client().get_run(second["run_id"]).data
    assert decided.metrics["gate/p"] < decided.metrics["gate/level"]
    assert decided.metrics["drift/documents"] == decided.metrics["drift/documents_before"] == 200
    assert decided.metrics["drift/change_of_map"] == 0
    version = tracking.client().get_model_version(second["name"], "2")
    assert (version.tags["night"], version.tags["decision"]) == ("2", second["run_id"])

    third = night("grown", "nothing")
    assert (third["outcome"], third["version"], third["number"]) == ("refuse", "2", 3)
    assert "not shown to be better" in third["reason"]

    again = night("grown", "nothing")
    assert again == {**third, "unchanged": True, "report": third["report"]}

    with pytest.raises(BadInput, match="100 documents, 42% of the 240 before") as refused:
        night("halved", "TF-IDF")
    assert "is not trained on" in str(refused.value)
    assert registry.champion(first["name"]) == "2"
    stopped, *others = decisions.nights(first["name"])
    assert (stopped.outcome, [night.outcome for night in others]) == (
        "stop", ["refuse", "promote", "promote"],
    )  # fmt: skip
    # Who knows better says so; a stop is no test of the gate.
    assert night("halved", "TF-IDF", size=0.1)["number"] == 4


def test_a_model_that_was_taken_back_is_no_measure(night):
    from flows.tracking import registry

    night("first", "nothing")
    name = night("first", "TF-IDF")["name"]
    registry.rollback("it is bad", name)
    # The night that promoted it is known, and does not bring it back.
    assert night("first", "TF-IDF")["version"] == "1"
    # Against version 1 alone the same is better once more.
    assert night("grown", "TF-IDF")["version"] == "3"


def test_a_promotion_that_was_killed_is_carried_out_by_the_next_run(night, monkeypatch):
    from flows import retrain
    from flows.tracking import registry

    with monkeypatch.context() as patch:
        patch.setattr(retrain, "_carry_out", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            night("first", "TF-IDF")
    last = night("grown", "nothing")
    assert (last["outcome"], last["version"], last["number"]) == ("refuse", "1", 2)
    assert len(registry.history(last["name"])) == 1


def test_a_challenger_starts_from_the_champion(night):
    from flows import tracking

    first = night("first", "nothing", start="champion")
    second = night("grown", "nothing", start="champion")
    tags = [tracking.client().get_run(n["challenger"]).data.tags for n in (first, second)]
    assert "start_version" not in tags[0]
    assert tags[1]["start_version"] == f"models:/{first['name']}/1"


def test_the_first_night_draws_the_frozen_set(night, corpora):
    name = night("first", "TF-IDF")["name"]
    place = environment.home() / "frozen" / name
    before = store.read(place, "frozen")
    assert before.parents["corpus"] == store.read(corpora["first"]).key
    night("grown", "TF-IDF")
    assert store.read(place).key == before.key
    other = night("grown", "TF-IDF", frozen=[str(place), str(place)], alpha=0.1)
    assert other["number"] == 3
