"""Words of a query that a model does not know, and what may have been meant."""

import json
from dataclasses import replace

import polars as pl
import pytest

from ssi_core.command.failures import DONE
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.models.base import FittedModel
from ssi_core.models.tfidf import TfIdf
from ssi_core.serving.index import build_index
from ssi_core.serving.query_words import (
    known_spellings,
    spelled_like,
    unknown_words,
    with_accents,
)
from ssi_core.serving.searcher import open_searcher
from ssi_core.serving.why import why
from ssi_core.text.tokenizer import stemmed
from ssi_core.views.lexicon import Vocabulary
from tests.serving.models import documents, views, write_parts


def test_words_that_no_view_knows_are_named_once_in_their_order():
    used = views("raw", "bm25")
    assert unknown_words("Zebra car; ZEBRA apes moon", used) == ["zebra", "apes"]
    assert unknown_words("car moon", used) == []
    assert unknown_words("", used) == []


def test_a_word_is_known_that_one_of_several_views_knows():
    used = {"one": views()["counts"], "other": views(words=("zebra", "apes"))["counts"]}
    assert unknown_words("zebra car lions", used) == ["lions"]


def test_other_views_than_those_of_words_tell_of_none():
    assert unknown_words("zebra", {"counts": views()["counts"], "hashed": object()}) == []
    assert unknown_words("zebra", {}) == []


def test_of_stems_the_word_that_was_typed_is_named():
    view = replace(
        views()["counts"], language=stemmed("en"), vocabulary=Vocabulary(pl.Series(["polici"]))
    )
    used = {"counts": view}
    assert unknown_words("policies unheardings", used) == ["unheardings"]


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("autmobile", "automobile"),
        ("automobiles", "automobile"),
        ("plannet", "planet"),
        ("plxxet", None),  # too many other letters
        ("engines", "engine"),
        ("ngine", None),  # another first letter
        ("mon", None),  # too short
        ("moooon", "moon"),
        ("mooooon", None),
        ("automobileses", None),  # too long
    ],
)
def test_what_is_spelled_like_it_begins_alike_and_has_few_other_letters(word, near):
    assert spelled_like([word], views()) == {word: near}


def test_nothing_is_spelled_like_no_word():
    assert spelled_like([], views()) == {}


def test_a_search_says_what_no_text_has(tmp_path, capsys):
    used = views()
    fitted = FittedModel(TfIdf("counts"), {}, used, used)
    fitted.save(tmp_path / "model")
    build_index(fitted, documents(used), tmp_path / "model" / "index", parents={})
    words = ["search", str(tmp_path / "model"), "autmobile rocket qq"]
    assert run(library, words) == DONE
    said = capsys.readouterr().out
    assert "no text has the word 'autmobile'; did you mean 'automobile'?\n" in said
    assert "no text has the word 'qq'.\n" in said
    assert run(library, [*words, "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["unknown"] == {"autmobile": "automobile", "qq": None}
    assert run(library, [*words[:-1], "rocket", "--json"]) == DONE
    assert "unknown" not in json.loads(capsys.readouterr().out)


ACCENTED = ("café", "über", "résumé", "resume", "naïve", "straße", "ёж", "rocket", "cliche")


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("Cafe, rocket", "café, rocket"),
        ("cafè", "café"),
        ("cafe\u0301", "cafe\u0301"),  # it is known
        ("UBER-rocket", "über-rocket"),
        ("resume", "resume"),  # known itself, and so is the accented word
        ("strasse", "straße"),
        ("еж", "ёж"),
        ("cliché", "cliche"),
        ("zebra", "zebra"),
        ("", ""),
    ],
)
def test_an_unknown_word_is_read_as_the_known_one_with_other_accents(typed, read):
    assert with_accents(typed, views(words=ACCENTED)) == read


def test_of_words_with_the_same_letters_the_most_frequent_is_read():
    assert with_accents("cote", views(words=("côté", "coté"))) == "côté"


def test_stems_are_compared_where_a_model_has_stems():
    view = replace(
        views()["counts"], language=stemmed("en"), vocabulary=Vocabulary(pl.Series(["café"]))
    )
    assert known_spellings("Cafes", {"counts": view}) == {"cafes": "café"}


def test_signs_of_a_script_that_are_no_accents_stay():
    assert with_accents("か", views(words=("が",))) == "か"


def test_a_search_without_accents_finds_what_has_them_and_says_so(tmp_path, capsys):
    used = views(words=ACCENTED)
    fitted = FittedModel(TfIdf("counts"), {}, used, used)
    fitted.save(tmp_path / "model")
    texts = ["a café", "a rocket", "naïve"]
    build_index(
        fitted,
        documents(used, texts),
        tmp_path / "model" / "index",
        parents={},
        texts=write_parts(tmp_path / "texts", texts, [None] * 3),
    )
    words = ["search", str(tmp_path / "model"), "cafe"]
    assert run(library, words) == DONE
    said = capsys.readouterr().out
    assert "no text has the word 'cafe'; searched for 'café'.\n" in said
    assert "Car " in said
    assert run(library, [*words, "--json"]) == DONE
    answer = json.loads(capsys.readouterr().out)
    assert answer["unknown"] == {"cafe": "café"}
    assert [hit["id"] for hit in answer["results"]] == ["d0"]
    reasons = why(open_searcher(tmp_path / "model"), "cafe", "d0")
    assert (reasons.rank, reasons.missing) == (1, ())
