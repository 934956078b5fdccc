"""Why a document is not among the first, and the change that brings it there."""

from dataclasses import replace

import numpy as np
import pytest

from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.neighbours import by_chance, neighbours
from ssi_core.serving.searcher import Searcher
from ssi_core.serving.why import why
from ssi_core.types import BadInput
from tests.serving.models import TEXTS, WORDS, documents, random_models, write_parts

MODELS = [
    fitted
    for fitted in random_models(0)
    if fitted.model.name in ("tfidf", "bm25", "lsi", "bilinear", "topic_model")
]


@pytest.fixture(scope="module")
def searchers(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        # No text is short, so what results show of one is not what is read again.
        patch.setattr("ssi_core.serving.passages.LONGEST", 9)
        yield _searchers(tmp_path_factory.mktemp("why"))


def _searchers(place):
    parts = write_parts(place / "texts", TEXTS, [None] * len(TEXTS))

    def made(number, fitted):
        build_index(
            fitted, documents(fitted.document_views), place / str(number), texts=parts, parents={}
        )
        return Searcher(fitted, open_index(place / str(number)))

    return [made(number, fitted) for number, fitted in enumerate(MODELS)]


def _above_chance(fitted, query):
    try:
        near = neighbours(fitted, query, len(WORDS))
    except BadInput:
        return set()
    return {one.word for one in near if one.score > by_chance(fitted)}


def rank(searcher, query, id):
    """Place of a document, from 1; None where it is not found."""
    hits = searcher.search([query], len(searcher.index) + 1)[0].hits
    return next((number for number, hit in enumerate(hits, 1) if hit.id == id), None)


def test_a_missed_document_is_told_what_holds_another_above_it_and_what_it_lacks(searchers):
    found = why(searchers[0], "wheel engine moon", "Automobile", 1)

    assert (found.id, found.title, found.rank) == ("d1", "Automobile", 5)
    assert found.above == "Wheels"
    assert found.gap == pytest.approx(found.needed - found.score)
    assert found.missing == ("wheel", "moon")  # the model gives "wheel" the larger weight
    (gap,) = found.holding
    assert gap.word == "wheel"
    assert gap.there > gap.here == 0.0


def test_a_document_that_is_there_has_no_gap_and_needs_no_change(searchers):
    found = why(searchers[0], "wheel engine", "Wheels", 1)

    assert (found.rank, found.gap, found.holding, found.change) == (1, 0.0, (), None)


def test_fewer_documents_than_places_are_not_said_to_fill_them(searchers):
    found = why(searchers[0], "planet", "Automobile", 10)

    assert found.lines()[1].startswith(f"{found.above} in place 3 has a score of")


def test_a_document_without_a_word_of_the_query_has_no_rank(searchers):
    found = why(searchers[0], "planet", "Automobile", 1)

    assert (found.rank, found.score, found.missing) == (None, 0.0, ("planet",))
    assert found.change is None  # the only word of the query is all of the query


def test_an_approximate_search_is_asked_exactly(searchers):
    searcher = searchers[0]
    nothing = np.zeros((1, 0), np.int32), np.zeros((1, 0), np.float32)
    blind = replace(searcher.ranked[0], scores=lambda *_: nothing)
    approximate = Searcher(searcher.fitted, searcher.index, [blind], recall=0.5)

    assert why(approximate, "wheel engine", "Wheels", 1).rank == 1


def test_what_cannot_be_asked_is_refused(searchers, tmp_path):
    with pytest.raises(BadInput, match="no document"):
        why(searchers[0], "wheel", "Nothing")
    with pytest.raises(BadInput, match="Try other words"):
        why(searchers[0], "xyz", "Wheels")
    fitted = MODELS[0]
    build_index(fitted, documents(fitted.document_views), tmp_path / "bare", parents={})
    with pytest.raises(BadInput, match="keeps no texts"):
        why(Searcher(fitted, open_index(tmp_path / "bare")), "wheel", "Wheels")


def test_fewer_documents_than_places_name_the_place_that_there_is(searchers):
    found = why(searchers[0], "wheel", "Moon rocket", 10)

    hits = searchers[0].search(["wheel"], 10)[0].hits
    assert (found.place, found.above) == (len(hits), hits[-1].title)
    assert f"in place {len(hits)} has" in " ".join(found.lines())
