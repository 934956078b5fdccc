"""Topics of feeds that are named by titles: which title, and what it reaches."""

import pytest

pytest.importorskip("feedparser", reason="the extra feeds is not installed")

from benchmarks.topic_titles import compared, linked_most
from tests.guests.feeds.test_feeds import made


def test_a_topic_has_the_article_to_which_its_own_link_more_than_others():
    documents = {"Birds": ["a", "b", "c"], "Ships": ["d", "e"]}
    links = [(one, "world") for one in "abcdef"]
    links += [(one, "wing") for one in "ab"] + [(one, "sea") for one in "def"] + [("a", "beak")]
    # world: 3 of 3, as all; wing: 2 of 3 against 2 of 6; beak: 1 of 3 against 1 of 6
    assert linked_most(documents, links) == {"Birds": "wing", "Ships": "sea"}


def test_titles_that_the_feeds_name_are_better_than_categories_that_they_do_not():
    feeds = made()
    found = compared(feeds, {feed.topics[0]: feed.topics[0] for feed in feeds})
    rows = {(row["names"], row["elements"]): row for row in found["rows"]}
    assert len(rows) == 3 * 5
    assert rows["title", "FT"]["recall"] == rows["category", "FT"]["recall"] > 0.3
    assert rows["title", "FT"]["difference"] == 0
    lost = compared(feeds, {feed.topics[0]: "nowhere" for feed in feeds})
    rows = {(row["names"], row["elements"]): row for row in lost["rows"]}
    row = rows["title", "FT"]
    assert row["recall"] == 0
    assert row["difference"] == pytest.approx(-rows["category", "FT"]["f_topics"])
    assert row["p"] <= row["p_holm"] < 0.05


def test_any_word_of_a_category_is_enough_where_asked():
    feeds = made()
    two = [
        type(one)(one.name, one.title, one.description, (f"{one.topics[0]} lore",), one.entries)
        for one in feeds
    ]
    found = compared(two, {one.topics[0]: "nowhere" for one in two})
    rows = {(row["names"], row["elements"]): row for row in found["rows"]}
    assert rows["category", "FT"]["recall"] == 0
    assert rows["any word of the category", "FT"]["recall"] > 0.3
