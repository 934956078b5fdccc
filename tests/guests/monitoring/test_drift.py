import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from ssi_core.guests.monitoring import drift
from ssi_core.guests.monitoring.click_rates import ClickRates, Rate
from ssi_core.guests.monitoring.cooccurrence import count_words
from ssi_core.guests.monitoring.drift import (
    Limits,
    Profile,
    changed_pairs,
    changes,
    problems,
    profile,
)
from ssi_core.types import BadInput
from tests.corpora import topical, write_corpus
from tests.guests.monitoring.maps import map_of
from tests.seals import reseal

USUAL = Profile(
    1000, 9000, 0.01, 200.0, 0.05, {"en": 1.0},
    ClickRates({"click_rate": Rate(10_000, 1000)}, {"log": 5}),
    map_of([["a", "b"], ["c", "d"]] * 9, "abcd"),
)  # fmt: skip


def clicks(shown, clicked):
    return ClickRates({"click_rate": Rate(shown, clicked)})


def test_a_profile_of_a_corpus(tmp_path):
    texts = ["a boat sails", "the bird", "?!", "bird bird boat"]
    corpus = write_corpus(tmp_path / "corpus", texts, [(0, 1), (1, 3)])
    assert profile(corpus, ["boat", "bird", "a"]) == Profile(
        documents=4, links=2, empty=0.25, words=2.5, unknown=2 / 8, languages={"en": 1.0}
    )
    assert profile(corpus).unknown is None
    assert "unknown" not in profile(corpus).numbers()
    assert profile(corpus).numbers()["language_en"] == 1


def test_texts_that_are_the_same_are_not_read_again(tmp_path, monkeypatch):
    texts, links = topical(60)
    corpora = [write_corpus(tmp_path / str(n), texts, links[n:]) for n in (0, 3)]
    old, new = profile(corpora[0], ["a"]), profile(corpora[1], ["a"])
    asked = []

    def counted(texts, languages):
        asked.extend(texts)
        return count_words(texts, languages)

    monkeypatch.setattr(drift, "count_words", counted)
    again = profile(corpora[1], ["a"], like=old)
    assert (again, again.together, asked) == (new, old.together, [])
    other = write_corpus(tmp_path / "other", [*texts[:-1], "another"], links)
    profile(other, ["a"], like=old)
    # Noted without its map, the profile before may be by another vocabulary.
    profile(corpora[1], ["a"], like=replace(old, together=None))
    assert len(asked) == 120


def test_changed_pairs_are_those_of_one_collection_alone(tmp_path):
    texts = ["a boat", "a bird", "a car", "a tree"]
    new, old = [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1), (1, 2), (1, 3)]
    places = [write_corpus(tmp_path / str(n), texts, links) for n, links in enumerate((new, old))]

    assert changed_pairs(*places) == 3 / 4
    assert changed_pairs(places[0], places[0]) == 0


def test_a_sample_keeps_text_and_language_together(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", *topical())
    first = profile(corpus, sample=20)
    assert first == profile(corpus, sample=20)
    assert first.documents == 200
    part = corpus / "documents" / "part-00000.parquet"
    pl.read_parquet(part).with_columns(language=pl.lit("ja")).write_parquet(part)
    reseal(corpus)
    assert profile(corpus, sample=20).languages == {"en": 0.5, "ja": 0.5}


def test_no_document_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no documents"):
        profile(write_corpus(tmp_path / "corpus", [], []))


def test_what_is_noted_of_a_night_is_read_again():
    noted = json.loads(json.dumps(USUAL.to_dict()))
    found = Profile.from_dict(noted)
    assert found == USUAL  # but for the map, which is not compared
    assert (found.together, changes(USUAL, found)["map"]) == (None, 0)
    assert problems(replace(USUAL, documents=500), found) != []


def test_click_rates_that_moved():
    new = ClickRates({"click_rate": Rate(11_000, 1050)}, {"log": 6})
    assert changes(replace(USUAL, clicks=new), USUAL)["click_rate"] == pytest.approx(0.5)
    assert "click_rate" not in changes(replace(USUAL, clicks=ClickRates()), USUAL)


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
        ({"clicks": clicks(20_000, 800)}, "0.0400 clicks per showing, 0.1000 before"),
        ({"clicks": clicks(20_000, 4100)}, "0.2050 clicks per showing"),
        (
            {"together": map_of([["a", "c"], ["b", "d"]] * 9, "abcd")},
            "the maps of frequent words differ by 1.00, at most 0.20",
        ),
    ],
)
def test_what_stops_a_training(change, said):
    (problem,) = problems(replace(USUAL, **change), USUAL)
    assert said in problem
    lenient = Limits(size=0, words=100, unknown=1, empty=1, languages=1, map=1, clicks=100)
    assert problems(replace(USUAL, **change), USUAL, lenient) == []
    # Each names the limit that lets it pass.
    assert re.search(r"\(limit (\w+)\)$", problem)[1] in Limits.__dataclass_fields__


def test_languages_that_moved():
    other = replace(USUAL, languages={"ja": 1.0})
    moved = [changes(USUAL, one)["languages"] for one in (other, USUAL)]
    assert moved == [1, 0]


def test_the_sample_is_the_same_as_far_as_both_have_it(tmp_path):
    texts, _ = topical(240)
    old, new = (
        profile(write_corpus(tmp_path / str(n), texts[:n], []), sample=60) for n in (200, 240)
    )
    again = profile(tmp_path / "240", like=old, sample=60)
    assert list(again.together.words) == list(old.together.words) != list(new.together.words)
    assert changes(old, old)["map"] == 0 < changes(again, old)["map"] < 0.2
    drawn = np.random.default_rng(0).permutation(" ".join(texts).split()).tolist()
    mixed = [" ".join(drawn[n * 50 : n * 50 + 50]) for n in range(200)]
    poisoned = profile(write_corpus(tmp_path / "mixed", mixed, []), like=old, sample=60)
    assert changes(poisoned, old)["map"] > 0.5
    assert problems(poisoned, replace(old, links=0)) != []


@pytest.mark.parametrize("said", [{"size": 2}, {"words": 0.5}, {"unknown": -1}])
def test_limits_that_are_none(said):
    with pytest.raises(ValueError, match=next(iter(said))):
        Limits(**said)
