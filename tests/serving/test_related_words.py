"""Words that a model relates to a query: those of the explanation, and where they are marked."""

from collections import Counter

import pytest

from ssi_core.serving.explain import explain_pair
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.related_words import LEAST, MOST, related_words
from ssi_core.serving.searcher import Searcher, texts_of
from tests.serving.models import TEXTS, documents, random_models, write_parts

MODELS = random_models(1)
DENSE = [
    fitted
    for fitted in MODELS
    if fitted.dense_words(documents(dict(fitted.document_views)), "document")
]
QUERY = "car engine"


def searcher(fitted, path):
    texts = write_parts(path / "texts", TEXTS, [None] * len(TEXTS))
    build_index(
        fitted, documents(dict(fitted.document_views)), path / "index", parents={}, texts=texts
    )
    return Searcher(fitted, open_index(path / "index"))


@pytest.mark.parametrize("fitted", DENSE, ids=lambda fitted: fitted.model.name)
def test_related_words_are_those_that_the_explanation_names(fitted):
    own, query = documents(dict(fitted.document_views)), texts_of([QUERY], fitted.query_views)
    vectors, known = fitted.embed_queries(query), QUERY.split()
    told = [explain_pair(fitted, query, own.take([row]), 1000) for row in range(len(own))]
    scores = [explanation.score for explanation in told]
    found = related_words(fitted, vectors, known, own, scores)
    assert any(found)
    for words, explanation in zip(found, told, strict=True):
        parts = Counter()
        for part in explanation.parts:
            parts[part.document_word] += part.part
        others = {word: part for word, part in parts.items() if word not in known}
        assert words == pytest.approx({word: others[word] for word in words}, abs=1e-5)
        assert len(words) <= MOST
        assert all(part >= LEAST * explanation.score for part in words.values())
        best = max(others, key=others.get, default=None)
        if best is not None and others[best] > LEAST * max(explanation.score, 0) + 1e-5:
            assert best in words
    assert not any(related_words(fitted, vectors, known, own, [1e9] * len(own))), "a small share"


def test_a_model_without_vectors_of_words_relates_none():
    for fitted in MODELS:
        if fitted not in DENSE:
            own, query = (
                documents(dict(fitted.document_views)),
                texts_of([QUERY], fitted.query_views),
            )
            vectors = fitted.embed_queries(query)
            assert not any(related_words(fitted, vectors, (), own, [1.0] * len(own)))


def test_a_search_marks_related_words_where_it_is_asked_to(tmp_path):
    asked = searcher(MODELS[-1], tmp_path)
    plain, both = (asked.search(["car"], 6, related=on)[0].hits for on in (False, True))
    assert not any(hit.related for hit in plain)
    assert any(hit.related for hit in both)
    assert [(hit.id, hit.score, hit.fields) for hit in plain] == [
        (hit.id, hit.score, hit.fields) for hit in both
    ]
    for hit in both:
        words = {hit.snippet[start:end] for start, end in hit.related}
        assert words.isdisjoint({"car"})
        assert not set(hit.related) & set(hit.marks)
