"""Stems of English words: the words of a task, of its queries and of texts read later."""

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.serving.query_words import weights
from ssi_core.serving.snippets import snippet
from ssi_core.tasks.spec import spec_of
from ssi_core.text.porter import root, stem
from ssi_core.text.tokenizer import spoken, stemmed, tokenize
from ssi_core.types import BadInput
from ssi_core.views.lexicon import Lexicon

STEMS = stemmed("en")
TEXT = "Aliases, an alias; ACCELERATING café's caféS relational-relations E0425 x"


def test_a_root_is_its_own_root():
    for word in ("aliases", "accelerators", "agreed", "relational", "x", "e0425", "cafés"):
        assert root(root(word)) == root(word) == stem(root(word))
    assert root("aliases") == root("alias") != stem("aliases")


@pytest.mark.parametrize("order", [1, -1])
def test_a_lexicon_counts_the_stems_that_the_tokenizer_gives(order):
    lexicon = Lexicon(STEMS)
    for text in [TEXT, "Alia aliases alia", "relat ACCEL relation"][::order]:
        indptr, words, counts = lexicon.count([text.encode()])
        counted = dict(zip(lexicon.words(words.astype(np.int64)), counts.tolist(), strict=True))
        expected = tokenize(text, STEMS)
        assert counted == {word: expected.count(word) for word in expected}
        assert indptr.tolist() == [0, len(counted)]
    again = Lexicon.restored(STEMS, lexicon.chunks(0))
    assert again.chunks(0) == lexicon.chunks(0)
    _, words, _ = again.count([b"Aliasing relations"])
    assert set(again.words(words.astype(np.int64))) == {"alia", "relat"}


def pages():
    """Pages that name one thing in several forms; each links to the two after it."""
    names = ("claim", "title", "relat", "connect")
    forms = [f"{name}{ending}" for ending in ("s", "", "ed", "ing") for name in names]
    texts = [f"Of page {n}: {form} {n % 5}" for n, form in enumerate(forms * 3)]
    return texts, [(n, (n + k) % len(texts)) for n in range(len(texts)) for k in (1, 2)]


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    return ssi.read(*pages(), language="en", out=tmp_path_factory.mktemp("docs") / "docs")


@pytest.fixture(scope="module")
def task(docs, tmp_path_factory):
    return ssi.Task.of(docs, stems=True, out=tmp_path_factory.mktemp("task") / "task")


def test_a_query_finds_the_other_forms_of_its_words(docs, task, tmp_path):
    fit = ssi.Ranker("bm25f").fit(task)
    index = fit.index(docs, out=tmp_path / "index")
    found = {hit.id for hit in index.search("connections", k=40)}
    assert found == set(docs.frame.filter(pl.col("text").str.contains("connect"))["id"])
    plain = ssi.Ranker("bm25f").fit(ssi.Task.of(docs, out=tmp_path / "plain"))
    assert not list(plain.index(docs, out=tmp_path / "other").search("connections"))


def test_the_words_of_a_model_are_stems_of_the_language_of_its_texts(task):
    fit = ssi.Ranker("bm25").fit(task).fitted_
    view = fit.query_views["counts"]
    assert (view.language, spoken(view.language), fit.languages) == (STEMS, "en", ["en"])
    assert list(view.words) == [root(word) for word in view.words]


def test_a_snippet_marks_all_forms_of_a_word(task):
    view = task.data.documents.views["counts"]
    shown = snippet("The titles are Titled so; no tiger.", weights("title", view))
    assert [shown.text[a:b] for a, b in shown.marks] == ["titles", "Titled"]


def test_texts_of_other_languages_have_no_stems():
    texts = ssi.read(*pages(), language="de")
    with pytest.raises(BadInput, match="in 'de', and only those in 'en' have stems"):
        ssi.Task.of(texts, stems=True)
    with pytest.raises(ValueError, match="stems: of translations"):
        spec_of(relevant="translation", stems=True)
