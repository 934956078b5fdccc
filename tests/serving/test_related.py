"""Documents that are related to a document: which model answers, and of which documents."""

import pytest

from ssi_core.serving.index import build_index
from ssi_core.serving.related import open_related, related_documents
from ssi_core.types import BadInput
from tests.serving.models import TEXTS, documents, random_models, write_parts

TFIDF, BILINEAR = random_models(0)[0], random_models(0)[-1]
URLS = [None] * len(TEXTS)


def write(fitted, directory, texts=True):
    """A directory with a model and its index, as `ssi fit` writes it."""
    fitted.save(directory)
    parts = write_parts(directory / "parts", TEXTS, URLS) if texts else ()
    own = documents(dict(fitted.document_views))
    build_index(fitted, own, directory / "index", parents={"model": str(directory)}, texts=parts)
    return directory


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model of words, and in it one of related documents."""
    directory = write(TFIDF, tmp_path_factory.mktemp("models") / "model")
    write(BILINEAR, directory / "related")
    return directory


@pytest.mark.parametrize("name", ["d1", "Automobile"])
def test_the_document_is_the_query_and_no_result(place, name):
    searcher = open_related(place)
    assert searcher.fitted.model.name == BILINEAR.model.name
    expected = searcher.search([TEXTS[1]], 9)[0].hits
    others = [(hit.id, hit.score) for hit in expected if hit.id != "d1"]
    found = related_documents(searcher, name, 3)
    assert [(hit.id, hit.score) for hit in found.hits] == others[:3]
    assert [(hit.marks, hit.fields) for hit in found.hits] == [((), ())] * 3
    assert [hit.snippet for hit in found.hits] == [TEXTS[int(hit.id[1:])] for hit in found.hits]


def test_without_a_model_of_related_documents_the_model_itself_answers(place, tmp_path):
    alone = write(TFIDF, tmp_path / "alone")
    assert open_related(alone).fitted.model == TFIDF.model
    assert open_related(place, place / "index").fitted.model == TFIDF.model
    with pytest.raises(BadInput, match="there is no such directory"):
        open_related(tmp_path / "nowhere")


def test_documents_that_are_not_there_are_answered_with_titles_near_them(place):
    searcher = open_related(place)
    with pytest.raises(BadInput, match=r"'automobil'\. Titles near it: 'Automobile'\."):
        related_documents(searcher, "automobil")
    for title in ("Car", "Rocket car"):  # what is said can be typed
        with pytest.raises(BadInput, match=f"'{title}'"):
            related_documents(searcher, title.lower())
        assert related_documents(searcher, title).hits


def test_an_index_without_texts_says_so(tmp_path):
    with pytest.raises(BadInput, match="without the texts"):
        related_documents(open_related(write(TFIDF, tmp_path / "bare", texts=False)), "d1")
