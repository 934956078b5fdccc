"""What a line of UBI gives: the row of a query or an event, or the reason why it gives none."""

import json

import polars as pl
import pytest

from ssi_core.guests.click_logs.ubi.judged import UbiJudged
from ssi_core.guests.click_logs.ubi.lines import ROW, UbiLines, documents_of, is_ubi
from ssi_core.types import BadInput

ABOUT = {"object": {"object_id": " b 1", "description": "a\nshoe"}, "position": {"ordinal": "3"}}


@pytest.fixture
def lines():
    return UbiLines({"click": "click", "look": "impression"})


def row(**known):
    return tuple(known.get(name, "" if name == "application" else None) for name in ROW)


def test_an_event_gives_its_object_and_its_place(lines):
    one = {"action_name": "look", "query_id": 7, "event_attributes": ABOUT, "client_id": "c",
           "timestamp": 5, "application": "shop"}  # fmt: skip
    expected = {"file": 2, "line": 9, "session": "7", "kind": "impression", "document": "b 1",
                "position": 3, "user": "c", "timestamp": "5", "application": "shop"}  # fmt: skip
    assert lines.row(2, 9, one) == row(**expected)
    asked = {"user_query": " red\tshoes ", "user_id": "u", "action_name": "click"}
    asked |= {"query_response_hit_ids": ["x"]}
    expected |= {"text": "red shoes", "user": "u", "kind": "click"}
    assert lines.row(2, 9, one | asked) == row(**expected)
    assert (lines.totals, lines.texts) == ({"event": 2}, {"b 1": "a shoe"})
    assert not lines.skipped


@pytest.mark.parametrize(
    ("hits", "found"),
    [
        (["a", 2, None, " "], ["a", "2"]),
        ('["a", 2]', ["a", "2"]),
        ("[broken", []),
        ("a| b c ||", ["a", "b c"]),
        ({"a": 1}, []),
        (None, []),
    ],
)
def test_a_query_gives_its_wording_and_what_was_found(lines, hits, found):
    one = {"query_id": "q", "user_query": "shoes", "query_response_hit_ids": hits}
    known = {"file": 0, "line": 1, "session": "q", "kind": "query", "text": "shoes"}
    assert lines.row(0, 1, one) == row(**known, hits=found)


def test_columns_with_dots_and_cells_of_json_are_objects_inside(lines):
    dotted = {"action_name": "click", "query_id": "q", "event_attributes.object.object_id": "b",
              "event_attributes.position.ordinal": 0}  # fmt: skip
    cell = {"action_name": "click", "query_id": "q", "event_attributes": json.dumps(ABOUT)}
    assert [lines.row(0, 1, one)[5:7] for one in (dotted, cell)] == [("b", 0), ("b 1", 3)]


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        ({"query_id": "q"}, "neither_query_nor_event"),
        ({"user_query": "shoes"}, "query_without_query_id"),
        ({"user_query": " ", "query_id": "q"}, "query_without_text"),
        ({"action_name": "click", "event_attributes": ABOUT}, "event_without_query_id"),
        ({"action_name": "click", "query_id": "q"}, "event_without_object_id"),
    ],
)
def test_what_gives_no_row_is_counted_by_the_reason(lines, one, reason):
    assert lines.row(0, 1, one) is None
    assert lines.skipped == {reason: 1}
    assert lines.totals.total() == (reason != "neither_query_nor_event")


def test_actions_that_are_neither_are_counted_by_their_names(lines):
    for name in ("buy", "buy", 3):
        assert lines.row(0, 1, {"action_name": name, "query_id": "q"}) is None
    assert (lines.others, lines.totals, lines.skipped) == ({"buy": 2, "3": 1}, {"event": 3}, {})


def test_the_smallest_place_of_a_showing_is_kept_for_each_application(lines):
    for action, place, shop in (
        ("look", 2, "a"), ("look", 1, "a"), ("look", 5, "b"), ("click", 0, "b"), ("look", -1, "a"),
    ):  # fmt: skip
        about = {"object": {"object_id": "x"}, "position": {"ordinal": place}}
        one = {"action_name": action, "query_id": "q", "application": shop}
        lines.row(0, 1, one | {"event_attributes": about})
    assert lines.first == {"a": 1, "b": 5}


def test_places_are_whole_numbers_below_two_to_the_31st(lines):
    def place(number):
        about = {"object": {"object_id": "x"}, "position": {"ordinal": number}}
        one = {"action_name": "click", "query_id": "q", "event_attributes": about}
        return lines.row(0, 1, one)[6]

    assert place((1 << 31) - 1) == (1 << 31) - 1
    assert [place(number) for number in (1 << 31, -1, "x", None, float("inf"))] == [None] * 5


def blocks_of(path):
    return list(documents_of(path, lambda line, one: (line, one)))


def test_documents_of_an_export_come_with_their_lines(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_bytes(
        b'{"index": {}}\n{"_source": {"a": 1}}\n\n{"create": {}}\n{"b": 2}\nno ' + b"x" * 300
        + '\n{"c": "ä"}\n'.encode() + b'{"d": "\xe4"}\n[1]\n'
    )  # fmt: skip
    [(taken, broken)] = blocks_of(path)
    assert taken == [(2, {"a": 1}), (5, {"b": 2}), (7, {"c": "ä"})]
    assert [(line, category) for line, category, *_ in broken] == [
        (6, "json"), (8, "encoding"), (9, "json"),
    ]  # fmt: skip
    assert broken[0][2:] == ("no JSON object", "no " + "x" * 197)
    pl.DataFrame({"a": ["1", None], "b": [None, "2"]}).write_csv(tmp_path / "a.csv")
    assert blocks_of(tmp_path / "a.csv") == [([(2, {"a": "1"}), (3, {"b": "2"})], [])]
    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    assert blocks_of(tmp_path / "a.parquet") == [([(1, {"a": 1}), (2, {"a": 2})], [])]
    with pytest.raises(BadInput, match=r"a\.md: its name does not say what it is"):
        blocks_of(tmp_path / "a.md")


def test_an_object_over_many_lines_is_one_or_the_hits_of_a_response(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"a": {"b": 1}}, indent=1))
    assert blocks_of(path) == [([(1, {"a": {"b": 1}})], [])]
    hits = [{"_source": {"a": 1}}, {"b": 2}, 3]
    path.write_text(json.dumps({"hits": {"hits": hits}}, indent=1))
    assert blocks_of(path) == [([(1, {"a": 1}), (1, {"b": 2})], [])]


@pytest.mark.parametrize(
    ("name", "text", "known"),
    [
        ("a.jsonl", '{"query_id": 1}\n{"user_query": 1}', True),
        ("a.jsonl", '{"query_id": 1}\n{}\n{"user_query": 1}', False),
        ("a.jsonl", '{"query_id": 1, "user": 2}', False),
        ("a.csv", "action_name,user_query\n", False),
        ("a.csv", "query_id,user_query\n", True),
        ("a.md", "query_id,user_query\n", False),
    ],
)
def test_an_export_is_known_by_the_names_in_its_first_two_lines(tmp_path, name, text, known):
    (tmp_path / name).write_text(text)
    assert is_ubi(tmp_path / name) == known
    frame = pl.DataFrame({"query_id": [1], "action_name": [1]})
    frame.write_parquet(tmp_path / "a.parquet")
    assert is_ubi(tmp_path / "a.parquet")


def test_ratings_that_lack_something_and_queries_without_words_are_counted():
    judged = UbiJudged()
    rated = [("a", "2.5"), ("a", None), (None, 1), ("a", "inf")]
    ratings = [{"docId": document, "rating": rating} for document, rating in rated]
    entries = [{"query": "x\ny", "ratings": ratings}, {"ratings": ratings[:1]}, {"query": "z"}, 7]
    assert judged.take({"judgmentRatings": entries})
    queries = [{"queryText": "x y"}, {"queryText": ""}]
    assert judged.take({"querySetQueries": queries})
    assert not judged.take({"query_id": "q"})
    assert judged.skipped == {"rating_incomplete": 4, "judged_query_without_text": 2}
    assert list(judged.words.values()) == ["x y", "z"]
    assert [value for _, *value in judged._ratings] == [["a", 2.5]]
    assert [value for _, *value in judged._sets] == [["query_set", "unnamed"]]
