"""The data of a retraining beside those of the one before."""

from types import SimpleNamespace

from flows.training import checks
from flows.training.checks import check_data
from ssi_core import store
from ssi_core.guests.monitoring.drift import Limits, profile
from ssi_core.text.tokenizer import tokenize
from tests.corpora import topical, write_corpus


def test_a_text_that_both_have_is_split_once(tmp_path, monkeypatch):
    texts, links = topical()
    old = write_corpus(tmp_path / "old", texts, links)
    new = write_corpus(tmp_path / "new", ["a new text", *texts[1:]], links[1:])
    before = SimpleNamespace(corpus=str(old), corpus_key=store.read(old).key)
    split = []

    def counted(text, language="en"):
        split.append(text)
        return tokenize(text, language)

    monkeypatch.setattr(checks, "tokenize", counted)
    found = check_data(str(new), before, None, Limits())
    assert len(split) == len(set(split)) == len(set(texts)) + 1
    assert found.seen == profile(new, like=profile(old))
    assert found.numbers["drift/documents_before"] == len(texts)
