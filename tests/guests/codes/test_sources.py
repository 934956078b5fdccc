"""Labelled collections: what is taken of them, and what is refused."""

import re

import numpy as np
import pytest

from ssi_core.guests.codes.newsgroups import read_newsgroups
from ssi_core.guests.codes.reuters import read_reuters
from ssi_core.guests.codes.sources import read_labelled
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data
from tests.guests.codes import made

STORIES = [
    made.story(1, ["earn"]),
    made.story(2, ["acq"], "TEST", body="Ships"),
    made.story(3, ["earn"], "TEST"),
    made.story(4, ["acq", "earn"]),
    made.story(5, []),
    made.story(6, ["earn"], "NOT-USED"),
    made.story(7, ["earn"], kind=' TYPE="BRIEF"'),
    made.story(8, ["earn"], apte="NO"),
    made.story(9, ["acq"]),
    made.story(10, ["rare"]),
]


def test_stories_of_one_large_topic_are_taken(tmp_path):
    (tmp_path / "reut2-000.sgm").write_text("<!DOCTYPE lewis>\n" + "".join(STORIES))
    texts = read_reuters(tmp_path, topics=2)
    assert texts.classes == ("acq", "earn")
    assert texts.train.ids == ("1", "9")
    assert texts.test.ids == ("2", "3")
    assert texts.train.texts[0] == "NEWS 1 Cats purr <loudly>"
    np.testing.assert_array_equal(texts.train.labels, [1, 0])
    np.testing.assert_array_equal(texts.test.labels, [0, 1])


def test_an_archive_is_read_as_the_folder_is(tmp_path):
    content = "".join(STORIES).encode("latin-1")
    path = made.archive(tmp_path / "reuters.tar.gz", {"reuters/reut2-000.sgm": content})
    (tmp_path / "reut2-000.sgm").write_bytes(content)
    assert read_reuters(path, topics=2).train.texts == read_reuters(tmp_path, topics=2).train.texts


def test_posts_have_the_side_and_the_group_of_their_folder(tmp_path):
    posts = {
        "data/20news-bydate-train/sci.med/1": b"From: a\n\npills",
        "data/20news-bydate-train/rec.autos/2": b"caf\xe9 on wheels",
        "data/20news-bydate-train/rec.autos/2-o": b"a second copy",
        "data/20news-bydate-test/sci.med/1": b"more pills",
    }
    texts = read_labelled(made.archive(tmp_path / "news.tar.gz", posts))
    assert texts.name == "newsgroups"
    assert texts.train.ids == ("sci.med/1", "rec.autos/2")
    assert texts.train.texts[1] == "café on wheels"
    assert texts.classes[texts.test.labels[0]] == "sci.med"


def test_lines_have_their_sides(tmp_path):
    texts = read_labelled(made.lines(tmp_path / "own.jsonl"))
    assert texts.name == "own"
    assert (len(texts.train), len(texts.test)) == (60, 20)
    assert texts.classes == tuple(sorted(made.THEMES))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (made.story(1, ["earn"]).replace("</REUTERS>", ""), "story 1: it has no <REUTERS>"),
        (STORIES[0].replace(' NEWID="1"', ""), "no attribute NEWID"),
        (STORIES[0].replace("<TOPICS>", ""), "story 1: it has no <TOPICS>"),
        (STORIES[0] + STORIES[1], "its stories have 2 topics"),
        ("", "its stories have 0 topics"),
    ],
)
def test_a_damaged_story_is_named(tmp_path, content, message):
    (tmp_path / "reut2-000.sgm").write_text(content)
    with pytest.raises(BadInput, match=message):
        read_reuters(tmp_path, topics=3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: it is not JSON"),
        ("[]", "line 1: it is no JSON object"),
        ('{"text": 1, "label": "a"}', "line 1: text is no text"),
        ('{"text": "a", "label": "a", "side": "valid"}', "side is 'valid'"),
        ('{"text": "a", "label": "a", "side": "train"}', "the test side has no text"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    path = tmp_path / "own.jsonl"
    path.write_text(line)
    with pytest.raises(BadInput, match=message):
        read_labelled(path)


def test_an_empty_post_and_a_group_without_training_posts_are_named(tmp_path):
    for number, group in ((1, "a"), (2, "b")):
        place = tmp_path / "20news-bydate-train" / group
        place.mkdir(parents=True)
        (place / str(number)).write_text("words")
    place = tmp_path / "20news-bydate-test" / "c"
    place.mkdir(parents=True)
    (place / "3").write_text("words")
    with pytest.raises(BadInput, match="'c/3' of the test side has the class 'c'"):
        read_newsgroups(tmp_path)
    (place / "3").write_text(" ")
    with pytest.raises(BadInput, match="c/3: the post is empty"):
        read_newsgroups(tmp_path)


def test_a_path_of_no_known_kind_is_refused(tmp_path):
    with pytest.raises(BadInput, match="neither reut2-000"):
        read_labelled(tmp_path)
    with pytest.raises(BadInput, match="no such file or folder"):
        read_labelled(tmp_path / "none")
    (tmp_path / "cut.tar.gz").write_bytes(b"\x1f\x8b\x08 no archive")
    with pytest.raises(BadInput, match=re.escape("cut.tar.gz")):
        read_labelled(tmp_path / "cut.tar.gz")


def test_the_real_collections_have_the_printed_sizes():
    reuters = read_labelled(real_data("reuters21578", "reuters21578.tar.gz"))
    assert (len(reuters.train), len(reuters.test), len(reuters.classes)) == (5228, 2057, 10)
    news = read_labelled(real_data("20newsgroups-bydate", "20news-bydate.tar.gz"))
    assert (len(news.train), len(news.test), len(news.classes)) == (11314, 7532, 20)
