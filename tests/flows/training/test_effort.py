"""What a retraining starts from, and how many triples it may take."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from flows.settings import RetrainSettings
from flows.tracking.decisions import Retraining
from flows.training import effort
from flows.training.effort import effort_of
from ssi_core import store
from tests.corpora import topical, write_corpus

NOW = datetime(2020, 1, 31, tzinfo=UTC)


@dataclass(frozen=True)
class Decided:
    """A decision, as far as it is asked."""

    days: float
    corpus: str
    start: str = "scratch"
    outcome: str = "promote"
    row: str = "U'V + I"
    gain: float | None = -0.1
    champion: str = "4"

    def __getattr__(self, name):
        known = {
            "at": NOW - timedelta(days=self.days),
            "from_scratch": self.start == "scratch",
            "corpus_key": store.read(self.corpus).key,
            "challenger": f"run of day {self.days}",
            "is_no_worse": Retraining.is_no_worse.fget(self),
        }
        return known[name]


@pytest.fixture
def corpora(tmp_path):
    """A corpus, and one with 3 of its 100 links less."""
    texts, links = topical(50)
    kept = sorted(set(links))[:100]
    return [write_corpus(tmp_path / str(n), texts, kept[: 100 - n]) for n in (0, 3)]


def row_of(**settings):
    return SimpleNamespace(ranker=lambda: SimpleNamespace(**settings))


@pytest.fixture
def chosen(monkeypatch, corpora):
    """Return the effort on the first corpus; the champion was trained on the second."""
    monkeypatch.setattr(effort, "now", lambda: NOW)
    monkeypatch.setattr(effort.registry, "champion", lambda name: "4")
    versions = {"run of day 2": "4", "run of day 7": "4", "run of day 9": "4"}
    monkeypatch.setattr(effort.registry, "version_of", lambda run, name: versions.get(run))
    decided = [Decided(1, corpora[0], "version 4"), Decided(2, corpora[1])]

    def effort_with(*, row=None, decided=decided, **settings):
        row = row or row_of(budget=10_000, epoch=100)
        return effort_of(RetrainSettings(**settings), row, str(corpora[0]), decided)

    return effort_with


def test_the_budget_follows_the_share_of_pairs_that_changed_since_the_champion(chosen):
    found = chosen(start="champion")

    assert (found.model, found.budget) == ("models:/ssi/4", 1_500)
    assert found.reason == "version 4, 3.0% of the pairs changed since"


@pytest.mark.parametrize(
    ("row", "budget"),
    [
        ({"budget": 1_000, "epoch": 500}, 500),
        ({"budget": 200, "epoch": 500}, 200),
        ({"budget": 20_000, "epoch": "passes"}, 10_000),
        ({}, None),
    ],
    ids=[
        "one epoch",
        "no more than the row has",
        "an epoch of one pass",
        "a row that learns nothing",
    ],
)
def test_the_budget_of_a_row(chosen, row, budget):
    assert chosen(start="champion", row=row_of(**row)).budget == budget


def test_a_budget_that_is_given_counts(chosen):
    assert chosen(start="champion", budget=77).budget == 77
    assert chosen(start="scratch", budget=77).budget == 77


def test_a_week_after_the_last_training_from_scratch_there_is_another(chosen, corpora):
    week = [Decided(1, corpora[0], "version 4"), Decided(7, corpora[1])]

    assert chosen(start="champion", decided=week).model is None
    assert chosen(start="champion", decided=week, scratch_days=8).model == "models:/ssi/4"
    assert chosen(start="champion", decided=week, scratch_days=0).model == "models:/ssi/4"
    assert chosen(start="champion", decided=week).reason == "scratch, as none was for 7 days"


@pytest.mark.parametrize("gain", [0.0, 0.1])
def test_a_later_challenger_that_was_no_worse_is_gone_on_from(chosen, corpora, gain):
    champion = Decided(2, corpora[1])
    found = chosen(
        start="champion", decided=[Decided(1, corpora[0], "version 4", gain=gain), champion]
    )

    # Its data are those of tonight: one epoch is left.
    assert (found.model, found.budget) == ("runs:/run of day 1", 100)
    assert found.reason == "the challenger of 2020-01-30, 0.0% of the pairs changed since"


@pytest.mark.parametrize(
    "other",
    [{"gain": -0.001}, {"gain": None}, {"row": "another"}, {"champion": "3"}],
    ids=["worse", "not compared", "another row", "beside another champion"],
)
def test_no_other_challenger_is_gone_on_from(chosen, corpora, other):
    later = Decided(1, corpora[0], "version 4", **{"gain": 0.1, **other})

    assert (
        chosen(start="champion", decided=[later, Decided(2, corpora[1])]).model == "models:/ssi/4"
    )
    # What was before the champion neither.
    assert (
        chosen(start="champion", decided=[Decided(2, corpora[1]), later]).model == "models:/ssi/4"
    )


def test_a_stopped_retraining_is_no_training_from_scratch(chosen, corpora):
    stopped = [Decided(1, corpora[0], outcome="stop"), Decided(9, corpora[1])]

    assert chosen(start="champion", decided=stopped).model is None


def test_data_that_are_gone_count_as_changed(chosen, monkeypatch):
    monkeypatch.setattr(effort, "source_with_key", lambda corpus, key: None)

    found = chosen(start="champion")
    assert (found.model, found.budget) == ("models:/ssi/4", None)


def test_without_a_champion_a_retraining_starts_from_scratch(chosen, monkeypatch):
    monkeypatch.setattr(effort.registry, "champion", lambda name: None)

    assert chosen(start="champion").reason == "scratch, as there is no champion"
    assert chosen(start="scratch").reason == "scratch"
