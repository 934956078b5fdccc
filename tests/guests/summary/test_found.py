"""Summaries of what a search has found."""

from dataclasses import replace

import pytest

import ssi_core as ssi
from ssi_core.guests.live.searcher import Document, LiveSearcher
from ssi_core.guests.summary.answers import NO_TEXTS, summarised
from ssi_core.guests.summary.summariser import Summariser
from ssi_core.serving.searcher import Answer
from ssi_core.types import BadInput
from tests.guests.summary import made

FILLER = "Another sentence on something else stands here for the length of it. "


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    words = ["harbour", "mountain", "temple", "engine", "garden", "river", "market", "castle"]
    frame = {
        "id": [str(n) for n in range(8)],
        "title": [f"On the {word}" for word in words],
        "text": [
            f"{FILLER}The old {word} was built of stone in {1900 + n}. A {word} has a gate."
            for n, word in enumerate(words)
        ],
        "url": [f"https://example.org/{word}" for word in words],
    }
    links = [(str(n), str((n + step) % 8)) for n in range(8) for step in (1, 2, 3, 4, 5)]
    return ssi.read(frame, links=links, language="en", out=tmp_path_factory.mktemp("d") / "docs")


@pytest.fixture(scope="module")
def index(docs, tmp_path_factory):
    task = ssi.Task.of(docs, out=tmp_path_factory.mktemp("t") / "task")
    return ssi.BM25().fit(task).index(docs, out=tmp_path_factory.mktemp("i") / "index")


def test_a_summary_names_its_documents_and_marks_the_words(index):
    made_of = index.summary("built harbour stone", words=12, k=3)
    first = made_of.sentences[0]
    assert first.text == "The old harbour was built of stone in 1900."
    assert (first.id, first.title, first.url) == (
        "0", "On the harbour", "https://example.org/harbour"
    )  # fmt: skip
    assert "harbour" in [first.text[a:b] for a, b in first.marks]
    assert sum(len(one.text.split()) for one in made_of) <= 12
    assert made_of.frame.columns == ["id", "title", "url", "text", "score"]
    assert len(made_of) == len(made_of.frame)
    assert repr(made_of).splitlines()[0] == f"{first.text} (On the harbour)"
    # What is alike is said once, by the document that ranks first.
    long = index.summary("something else stands", words=1000, k=3)
    assert [one.text for one in long] == [FILLER.strip()]


def test_a_snippet_is_the_best_sentence(index):
    searcher = index._searcher
    query = "castle gate"
    (answer,) = searcher.search([query], 2)
    _, shown = summarised(searcher, query, answer, 50)
    assert [hit.id for hit in shown.hits] == [hit.id for hit in answer.hits]
    assert shown.hits[0].snippet == "A castle has a gate."
    assert (2, 8) in shown.hits[0].marks
    assert replace(shown.hits[0], snippet="", marks=()) == replace(
        answer.hits[0], snippet="", marks=()
    )


def test_added_documents_are_summarised_and_removed_ones_not(index):
    live = LiveSearcher(index._searcher)
    text = "A lighthouse stands above the old harbour since 1850."
    live = live.put([Document("n1", "Lighthouse", f"Lighthouse\n{text}")]).drop(["0"])
    (answer,) = live.search(["harbour lighthouse"], 5)
    summary, _ = summarised(live, "harbour lighthouse", answer, 40)
    assert {one.id for one in summary.sentences} >= {"n1"}
    assert "0" not in {one.id for one in summary.sentences}
    assert text in summary.text
    assert live.texts_of(["0", "n1", "7"])[:2] == ["", text]


def test_why_there_is_no_summary(index, docs, tmp_path):
    searcher = index._searcher
    (answer,) = searcher.search(["zzz"])
    summary, same = summarised(searcher, "zzz", answer, 50)
    assert (summary.sentences, summary.reason) == ((), answer.reason)
    assert same is answer
    (answer,) = searcher.search(["castle"], 1)
    bare = searcher.ranked
    try:
        searcher.ranked = [replace(bare[0], passages=None)]
        summary, _ = summarised(searcher, "castle", answer, 50)
    finally:
        searcher.ranked = bare
    assert summary.reason == NO_TEXTS
    for words in (0, 1001):
        with pytest.raises(BadInput, match="1 to 1000"):
            summarised(searcher, "castle", Answer(()), words)


def test_concepts_and_settings_in_python(index, tmp_path):
    concepts = ssi.Concepts.of(ssi.read(made.collection(tmp_path / "wiki")))
    assert concepts.find("the kyoto protocol and fossil fuel") == ["Kyoto Protocol", "Fossil fuel"]
    assert concepts.related("Fossil fuel", "Fossil fuel") == 1
    assert 0 < concepts.related("Fossil fuel", "Global warming") < 1
    assert concepts.related("Kyoto", "Fossil fuel") < concepts.related("Kyoto", "Mercury (planet)")
    with pytest.raises(BadInput, match="no concept 'fossil fuel'"):
        concepts.related("fossil fuel", "Kyoto")
    concepts.save(tmp_path / "concepts")
    kept = ssi.Concepts.load(tmp_path / "concepts")
    assert repr(kept) == repr(concepts)
    given = {"words": 12, "concepts": kept, "confidence": 0.2, "weighting": "tfidf"}
    assert ssi.summarise("fossil fuel", made.TEXTS, **given)[0].startswith("The Kyoto Protocol")
    assert ssi.summarise("anything", "") == []
    with pytest.raises(BadInput, match="wieghting"):
        ssi.summarise("a", "b", wieghting="tfidf")
    assert index.summary("castle", concepts=kept, weighting="tfidf").sentences
    assert Summariser().similarity == "word"
