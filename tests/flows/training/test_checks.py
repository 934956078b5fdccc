"""The data of a retraining beside those of the one before."""

import json
from types import SimpleNamespace

from flows.training import checks
from flows.training.checks import check_data
from ssi_core import store
from ssi_core.guests.monitoring import drift
from ssi_core.guests.monitoring.drift import Limits, profile
from tests.corpora import topical, write_corpus


def test_data_are_looked_at_beside_those_before(tmp_path):
    texts, links = topical()
    old = write_corpus(tmp_path / "old", texts, links)
    new = write_corpus(tmp_path / "new", ["a new text", *texts[1:]], links[1:])
    before = SimpleNamespace(corpus=str(old), corpus_key=store.read(old).key)
    found = check_data(str(new), before, None, Limits())
    assert found.seen == profile(new, like=profile(old))
    assert found.numbers["drift/documents_before"] == len(texts)


def test_no_text_is_read_that_the_same_champion_was_asked_about(tmp_path, monkeypatch):
    texts, links = topical()
    old = write_corpus(tmp_path / "old", texts, links)
    new = write_corpus(tmp_path / "new", texts, links[1:])
    other = write_corpus(tmp_path / "other", ["a new text", *texts[1:]], links)
    before = SimpleNamespace(corpus=str(old), corpus_key=store.read(old).key)
    note = json.loads(json.dumps(profile(old, ["car"]).to_dict()))
    monkeypatch.setattr(checks.decisions, "noted", lambda retraining, name: note)
    monkeypatch.setattr(checks, "_words_of", lambda model: ["car"])
    whole = check_data(str(new), before, "model", Limits())
    changed = check_data(str(other), before, "model", Limits())
    assert check_data(str(other), before, "model", Limits(), same_model=True) == changed
    monkeypatch.setattr(drift, "count_words", None)
    found = check_data(str(new), before, "model", Limits(), same_model=True)
    assert found == whole
    assert found.numbers["drift/change_of_map"] == 0
    assert found.numbers["drift/links_before"] == found.numbers["drift/links"] + 1
