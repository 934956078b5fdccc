"""The made query log: its truth, its gap of words, and what is held out."""

import numpy as np
import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.sample import query_log
from ssi_core.sample.query_log import CANDIDATES, QueryLogWorld, grades_of, word_of
from tests.sources import ingest

FEW = {"titles": 2000, "queries": 4000, "judged": 60, "topics": 5, "gap": 0.5, "seed": 3}


def world(**settings):
    return QueryLogWorld(**FEW | settings)


def clicked(made):
    return pl.concat([frame for _, frame in made.clicks()])


def words_in(texts):
    return set(texts.str.split(" ").explode().unique())


def test_numbers_have_words_of_their_own():
    words = [word_of(n) for n in range(20_000)]
    assert len(set(words)) == len(words)
    assert all(word.isalpha() and len(word) >= 4 for word in words)


def test_a_grade_follows_from_the_concepts():
    titles = np.array([[21, 25, -1], [21, -1, -1], [30, 21, -1], [39, -1, -1], [40, 1, -1]])
    grades = [4, 3, 2, 1, 0]
    assert grades_of(np.array([[21, 25]]), titles).tolist() == grades
    assert grades_of(np.array([[21, -1]]), titles).tolist() == [4, 4, 2, 1, 0]


def test_equal_settings_give_equal_logs_and_blocks_do_not_meet(monkeypatch):
    first, again, other = world(), world(), world(seed=4)
    assert clicked(first).equals(clicked(again))
    assert first.judgements().equals(again.judgements())
    assert not clicked(first).equals(clicked(other))
    monkeypatch.setattr(query_log, "_AT_ONCE", 1000)
    parts = [frame for _, frame in world().clicks()]
    assert len(parts) == 4
    assert not parts[0].equals(parts[1])


@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_the_gap_is_the_share_of_words_that_no_title_has(gap):
    made = world(gap=gap)
    titles = words_in(pl.concat(list(made.documents()))["title"])
    half = query_log.WORDS * query_log.CONCEPTS * 5
    of_titles, of_queries = (
        {word_of(n) for n in range(first, first + half)} for first in (200, 200 + half)
    )
    assert titles & of_titles
    assert not titles & of_queries
    asked = words_in(clicked(made)["text"])
    assert bool(asked & of_titles) == (gap == 0)
    assert bool(asked & of_queries) == (gap == 1)


def test_the_better_is_clicked_more_often_and_higher_places_hide_less():
    """Of equal grade the first place has more clicks, of equal place the better title."""
    generator = np.random.default_rng(0)
    titles = query_log.Titles(np.array([[0, -1, -1], [1, -1, -1], [20, -1, -1]]), np.zeros((3, 4)))
    concepts = np.zeros((3000, 2), np.int64)
    concepts[:, 1] = -1
    texts, showings = pl.Series(["q"] * 3000), np.full(3000, 20)
    found = query_log._clicked(generator, titles, concepts, texts, showings, 0)
    clicks = dict(found.group_by("document").agg(pl.col("clicks").sum()).rows())
    assert clicks["t0"] > 3 * clicks["t1"] > 3 * clicks["t2"] > 0


def test_judged_lists_are_graded_and_apart_from_the_clicks(tmp_path):
    made = ingest("sample-query-log", out=tmp_path / "log", **FEW)
    collection = open_collection(made.path)
    clicks, judged = (collection.frame(f"relations/{name}") for name in ("click", "judgement"))
    assert not set(clicks["target"]) & set(judged["target"])
    assert not set(clicks["source"]) & set(judged["source"])
    assert made.skipped["pair_of_judged_query"] > 0
    assert set(judged["grade"]) == {0, 1, 2, 3, 4}
    assert set(judged.group_by("source").len()["len"]) == {CANDIDATES}
    assert made.counts["pairs_of_judged_documents"] == 0
    assert made.counts["pairs"] == len(clicks) > 4000
    assert (clicks["clicks"] <= clicks["shown"]).all()
    assert made.counts["gains"] == {"0": 0.0, "1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0}


def test_the_smallest_log_is_a_log(tmp_path):
    small = {**FEW, "titles": 100, "queries": 100, "judged": 10, "topics": 10}
    made = ingest("sample-query-log", out=tmp_path / "log", **small)
    assert made.counts["judgements"] > 50
