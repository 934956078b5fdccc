"""How far a page answers a whole query."""

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import ssi_core as ssi
from ssi_core.guests.site import clusters, learning, writing
from ssi_core.guests.site.matching import OTHER, STEPS, Matching, names_of, weights_of
from ssi_core.guests.site.ranking import SiteIndex

WORDS = ["car", "old", "wheel", "road"]
FIELDS = pl.DataFrame(
    {
        "title": ["Old car", "Car", "Roads"],
        "headings": ["Old wheel\nSee also", "", "See also"],
        "anchors": ["the old car\nold car", "", "road"],
    }
)
HAS = sparse.csr_array(np.array([[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]], np.float32))


@pytest.fixture
def matching():
    return Matching(WORDS, HAS, names_of(FIELDS, "en"))


def test_names_are_titles_headings_and_wordings_each_once(matching):
    names = matching.names
    assert list(zip(names.pages.tolist(), names.titles.tolist(), names.words, strict=True)) == [
        (0, True, ("old", "car")),
        (0, False, ("old", "wheel")),
        (0, False, ("see", "also")),
        (0, False, ("the", "old", "car")),
        (1, True, ("car",)),
        (2, True, ("roads",)),
        (2, False, ("see", "also")),
        (2, False, ("road",)),
    ]


def test_a_heading_of_many_pages_names_none():
    titles = [f"Page {n}" for n in range(9)]
    fields = pl.DataFrame({"title": titles, "headings": "Examples", "anchors": ""})
    assert len(names_of(fields, "en").words) == len(titles)


def test_the_factor_is_the_share_of_the_words_and_the_most_similar_name(matching):
    car, old, wheel, road = weights_of(np.array([2, 1, 1, 1]), 3).tolist()
    assert car < old  # the rarer word weighs more
    np.testing.assert_array_equal(matching.weights, [car, old, wheel, road])
    # All words, and a title: twice. One word of two, and a title that is that word.
    first, second, third = matching.factors(["old", "car"])
    assert first == 2
    share = car / (car + old)
    assert second == pytest.approx(share**2 * (1 + share))
    assert third == 0
    # A heading counts for less than a title; words that no page has count for nothing.
    assert matching.factors(["wheel", "old", "unknown"])[0] == pytest.approx(1 + OTHER)
    assert not matching.factors(["unknown"]).any()


def test_words_that_stand_near_each_other_in_a_name_weigh_their_idf():
    names = ["Old x y car", "Car, old", "Old x y z car", "Old", "Car"]  # 3 places, 1, 4
    fields = pl.DataFrame({"title": names, "headings": "", "anchors": ""})
    has = sparse.csr_array(np.array([[1, 1], [1, 1], [1, 1], [1, 0], [0, 1]], np.float32))
    matching = Matching(["old", "car"], has, names_of(fields, "en"))
    idf = weights_of(np.array([2]), 5)[0] / STEPS  # two pages have it
    np.testing.assert_array_equal(matching.phrases(["car", "old"]), [idf, idf, 0, 0, 0])
    np.testing.assert_array_equal(matching.phrases(["old", "car", "unknown"])[:1], [idf])
    assert not matching.phrases(["car"]).any()
    sums = np.ones(5)
    expected = (sums + matching.phrases(["old", "car"])) * matching.factors(["old", "car"])
    np.testing.assert_array_equal(matching.scores(sums, ["old", "car"]), expected)


def test_each_of_three_words_has_two_pairs(matching):
    pairs = [["old", "car"], ["old", "wheel"], ["car", "wheel"]]
    found = [matching.phrases(pair) for pair in pairs]
    np.testing.assert_array_equal(matching.phrases(["car", "old", "wheel"]), sum(found) / 2)


@pytest.mark.parametrize("typing", [False, True])
def test_a_page_whose_heading_has_the_words_together_is_first(own_root, tmp_path, typing):
    folder = tmp_path / "docs"
    folder.mkdir()
    texts = {
        "apart.md": "# A\n\n## Pears one two three four five six plums\n\nText. [b](near.md)",
        "near.md": "# B\n\n## Pears with plums one two three four five six\n\nText. [a](apart.md)",
        **{f"{n}.md": f"# Number {n}\n\nText. [a](apart.md)" for n in range(4)},
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    site = ssi.site(folder, tmp_path / "search", budget=0)
    first, second = site.search("plums pear" if typing else "plums pears", typing=typing)[:2]
    assert (first.url, second.url) == ("near.html", "apart.html")
    assert first.score > 1.2 * second.score
    learnt = learning.learn(ssi.read(folder), budget=0)
    assert [learnt.pages["url"][page] for page in learnt.ranked("plums pears")[:2]] == [
        "near.md",
        "apart.md",
    ]


@pytest.mark.trains
def test_settings_are_chosen_with_phrases(own_root, made, monkeypatch):
    folder, _, best, _ = made
    task = learning.task_of(ssi.read(folder))
    with_phrases = learning._Judge(task, best)._exact
    monkeypatch.setattr(Matching, "phrases", lambda self, words: 0.0)
    assert (with_phrases > learning._Judge(task, best)._exact).any()


@pytest.mark.trains
def test_a_page_with_all_words_is_before_one_with_a_rare_word_often(own_root, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    texts = {
        "often.md": "# Pear\n\npear pear pear pear pear [a](both.md)",
        "both.md": "# Fruit\n\nOne apple, a pear, many other words of a longer text [b](often.md)",
        **{f"{n}.md": f"# Number {n}\n\nText. [a](both.md)" for n in range(4)},
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    site = ssi.site(folder, tmp_path / "search")
    assert site.search("apple pear")[0].url == "both.html"


def test_of_groups_of_pages_each_page_is_in_one_and_neighbours_are_together():
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(20, 8)).astype(np.float32)
    of_page = np.arange(3000) % 20
    vectors = topics[of_page] + rng.normal(scale=0.01, size=(3000, 8)).astype(np.float32)
    groups = clusters.clusters_of(vectors)
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(3000))
    assert all((np.diff(group) > 0).all() for group in groups)
    assert max(map(len, groups)) <= 256
    assert np.mean([len({*of_page[group].tolist()}) for group in groups]) < 2
    assert len(clusters.clusters_of(vectors[:2000])) == 1


@pytest.mark.trains
def test_a_large_site_loads_the_groups_nearest_to_the_query(made, tmp_path, monkeypatch):
    folder, learnt, *_ = made
    whole = SiteIndex(folder / "search")
    monkeypatch.setattr(clusters, "_WHOLE", 50)
    monkeypatch.setattr(clusters, "_SIZE", 10)
    writing.write_site(learnt, tmp_path / "search", root="../", addresses="html")
    index = SiteIndex(tmp_path / "search")
    index.rank("car")
    assert len(index._groups) == clusters.NEAREST < len(index._centers[0])
    titles = [title for title, *_ in whole.pages[:60]]
    same = [len({*_first(whole, one)} & {*_first(index, one)}) / 5 for one in titles]
    assert np.mean(same) > 0.9


def _first(index, text):
    return [page for page, _ in index.rank(text)[:5]]
