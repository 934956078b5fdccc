"""What a search, and what is related, finds and shows of documents that come and go."""

import pytest

from ssi_core.guests.live.changes import Changes
from ssi_core.guests.live.searcher import Document, LiveSearcher
from ssi_core.serving.approximate import approximate
from ssi_core.serving.nothing import NO_OTHER
from ssi_core.serving.related import open_related, related_documents
from ssi_core.types import BadInput
from tests.fielded import word
from tests.serving import test_related_words, test_snippets
from tests.serving.models import TEXTS, write_parts
from tests.serving.test_approximate import TEXTS as MANY


def test_documents_come_and_go(exact, tmp_path):
    live = LiveSearcher(approximate(exact, tmp_path, 0.9))
    new = Document("n", "New", "moon moon planet")
    query = "moon planet"
    best = live.search([query], 3)[0].hits[0]
    changed = live.put([new]).drop([best.id])
    ids = [hit.id for hit in changed.search([query], 400)[0].hits]
    assert "n" in ids
    assert best.id not in ids
    assert len(ids) == len(MANY)
    assert changed.recall == live.recall


def test_a_document_like_no_other_is_told_so(place):
    live = LiveSearcher(open_related(place, place / "index"))
    alone = live.drop([f"d{row}" for row in range(1, len(TEXTS))])

    found = related_documents(alone, "d0")
    assert (found.hits, found.reason) == ((), NO_OTHER)


def test_a_document_that_went_is_named_with_titles_near_it(place):
    live = LiveSearcher(open_related(place))
    with pytest.raises(BadInput, match=r"'automobil'\. Titles near it: 'Automobile'\."):
        related_documents(live, "automobil")
    with pytest.raises(BadInput, match=r"'Automobile'\. A search lists titles"):
        related_documents(live.drop(["d1"]), "Automobile")
    assert related_documents(live, "Rocket car").hits


def test_added_documents_are_related_like_any_other(place):
    live = LiveSearcher(open_related(place))
    copy = live.put([Document("n", "New", TEXTS[1])]).drop(["d3"])
    indexed, added = (related_documents(copy, name, 9).hits for name in ("d1", "n"))
    assert {hit.id for hit in indexed} == {"d0", "d2", "d4", "d5", "n"}
    assert {hit.id for hit in added} == {"d0", "d1", "d2", "d4", "d5"}
    # The two have one text.
    scores = [{hit.id: hit.score for hit in hits} for hits in (indexed, added)]
    assert scores[0]["d0"] == scores[1]["d0"]
    replaced = live.put([Document("d1", "Moon rocket", TEXTS[2])])
    expected = {hit.id: hit.score for hit in related_documents(replaced, "d2", 9).hits}
    found = {hit.id: hit.score for hit in related_documents(replaced, "d1", 9).hits}
    shared = found.keys() & expected.keys()
    assert len(shared) == 4
    assert {id: found[id] for id in shared} == {id: expected[id] for id in shared}
    assert related_documents(replaced, "Moon rocket", 9).hits == tuple(
        related_documents(replaced, "d1", 9).hits
    )


def test_a_document_that_was_added_shows_its_own(tmp_path):
    added = [
        Document("n", "New", "A moon. " + "car " * 3, "https://example.org/new"),
        Document("d0", "Car", "Another car."),
    ]
    texts = write_parts(tmp_path / "texts", TEXTS, test_snippets.URLS)
    changes = Changes(tmp_path / "documents.db")
    changes.put(added)
    live = LiveSearcher(test_snippets.searcher(tmp_path, texts=texts)).put(changes.read()[0])
    live = live.put([Document("m", "More", "moon")]).drop(["m"])
    hits = {hit.id: hit for hit in live.search(["car"], 9)[0].hits}
    assert (hits["n"].url, hits["n"].snippet) == ("https://example.org/new", "A moon. car car car")
    assert (hits["d0"].url, hits["d0"].snippet) == (None, "Another car.")
    assert hits["d4"].snippet == TEXTS[4]


def test_a_snippet_without_a_word_of_the_query_is_that_with_related_words(tmp_path):
    live = LiveSearcher(test_related_words.searcher(test_related_words.MODELS[-1], tmp_path))
    filler = "nobody is on it. " * 60
    related = {
        h.snippet[a:b] for h in live.search(["car"], 6, related=True)[0].hits for a, b in h.related
    }
    live = live.put([Document("n", "New", f"{filler}{' and '.join(sorted(related))}. {filler}")])
    hit = next(hit for hit in live.search(["car"], 9, related=True)[0].hits if hit.id == "n")
    assert hit.related
    assert not hit.marks
    assert {hit.snippet[a:b] for a, b in hit.related} <= related


def test_an_added_document_names_its_fields(index):
    known = {"title": 1001, "text": 4001, "url": 3001, "headings": 2001}
    new = Document(
        "n", word(known["title"]), f"On {word(known['text'])}",
        f"https://a.org/{word(known['url'])}", f"Of {word(known['headings'])}",
    )  # fmt: skip
    live = LiveSearcher(index._searcher).put([new])
    for field, number in known.items():
        fields = {hit.id: hit.fields for hit in live.search([word(number)])[0].hits}
        assert fields == {"n": (field,), "d1": (field,)}
