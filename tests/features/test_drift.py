from dataclasses import replace

import polars as pl
import pytest

from ssi_core.features.drift import Limits, Profile, moved_languages, problems, profile
from ssi_core.types import BadInput
from tests.corpora import topical, write_corpus

USUAL = Profile(1000, 9000, 0.01, 200.0, 0.05, {"en": 1.0})


def test_a_profile_of_a_corpus(tmp_path):
    texts = ["a boat sails", "the bird", "?!", "bird bird boat"]
    corpus = write_corpus(tmp_path / "corpus", texts, [(0, 1), (1, 3)])
    assert profile(corpus, ["boat", "bird", "a"]) == Profile(
        documents=4, links=2, empty=0.25, words=2.5, unknown=2 / 8, languages={"en": 1.0}
    )
    assert profile(corpus).unknown is None
    assert "unknown" not in profile(corpus).numbers()
    assert profile(corpus).numbers()["language_en"] == 1


def test_a_sample_keeps_text_and_language_together(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", *topical())
    first = profile(corpus, sample=20)
    assert first == profile(corpus, sample=20)
    assert first.documents == 200
    part = corpus / "documents" / "part-00001.parquet"
    pl.read_parquet(part).with_columns(language=pl.lit("ja")).write_parquet(part)
    assert profile(corpus, sample=20).languages == {"en": 0.5, "ja": 0.5}


def test_no_document_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no documents"):
        profile(write_corpus(tmp_path / "corpus", [], []))


def test_a_usual_day_has_no_problem():
    assert problems(USUAL, None) == problems(USUAL, USUAL) == []
    assert problems(replace(USUAL, documents=1300, links=15_000, words=220.0), USUAL) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"documents": 500}, "500 documents, 50% of the 1,000 before, at least 70%"),
        ({"links": 4500}, "4,500 links, 50% of the 9,000 before"),
        ({"words": 90.0}, "the median document has 90 words, 200 before"),
        ({"words": 450.0}, "a factor of at most 2"),
        ({"languages": {"en": 0.8, "ja": 0.2}}, "20% of the documents are in another language"),
        ({"unknown": 0.5}, "the champion does not know 50% of the words, 5% before"),
        ({"empty": 0.4}, "40% of the documents have no word"),
    ],
)
def test_what_stops_a_training(change, said):
    (problem,) = problems(replace(USUAL, **change), USUAL)
    assert said in problem
    lenient = Limits(size=0, words=100, unknown=1, empty=1, languages=1)
    assert problems(replace(USUAL, **change), USUAL, lenient) == []


def test_languages_that_moved():
    other = replace(USUAL, languages={"ja": 1.0})
    assert (moved_languages(USUAL, other), moved_languages(USUAL, USUAL)) == (1, 0)


@pytest.mark.parametrize("said", [{"size": 2}, {"words": 0.5}, {"unknown": -1}])
def test_limits_that_are_none(said):
    with pytest.raises(ValueError, match=next(iter(said))):
        Limits(**said)
