"""Values of a log: what is believed, and how it is read."""

from datetime import UTC, datetime

import polars as pl
import pytest

from ssi_core.guests.click_logs.check import NO, YES, clicked, judged
from ssi_core.guests.click_logs.columns import parse_map

COLUMNS = ("session", "query", "document", "position", "clicked", "timestamp")
GOOD = {"session": "s", "query": "p", "document": "a", "position": "1", "clicked": "1",
        "timestamp": "2024-03-01T10:00:00Z"}  # fmt: skip


def judge(values, **log):
    form = parse_map({"columns": {name: name for name in COLUMNS}, "log": log})
    nothing = pl.lit(None, pl.String)
    schema = dict.fromkeys(COLUMNS, pl.String)
    block = pl.DataFrame([{**GOOD, **one} for one in values], schema=schema).with_columns(
        line=pl.int_range(1, len(values) + 1, dtype=pl.Int64),
        category=nothing,
        problem=nothing,
        raw=pl.lit("row"),
    )
    return judged(block, form, "log.csv")


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-01T10:00:00Z",
        "2024-03-01T10:00:00",
        "2024-03-01 10:00:00",
        "2024-03-01 10:00:00.000000",
        "2024-03-01 10:00:00.000000+00:00",
        "2024-03-01T12:00:00.000+02:00",
        " 1709287200 ",
        "1709287200.0",
        "1709287200000",
    ],
)
def test_times_are_read_as_they_come(text):
    believed, quarantined = judge([{"timestamp": text}])
    assert believed["timestamp"].to_list() == [datetime(2024, 3, 1, 10, tzinfo=UTC)], quarantined


def test_a_row_of_no_clicks_is_no_click():
    form = parse_map({"columns": {"query": "q", "document": "d", "clicks": "n"}})
    numbers = pl.DataFrame({"clicks": ["0", "1", " 7 "]})
    assert numbers.select(clicked(form)).to_series().to_list() == [False, True, True]


def test_a_day_is_a_time_and_a_format_may_be_given():
    believed, _ = judge([{"timestamp": "2024-03-01"}])
    assert believed["timestamp"][0] == datetime(2024, 3, 1, tzinfo=UTC)
    believed, _ = judge([{"timestamp": "01.03.2024 10:00"}], time_format="%d.%m.%Y %H:%M")
    assert believed["timestamp"][0] == datetime(2024, 3, 1, 10, tzinfo=UTC)
    believed, _ = judge([{"timestamp": "01.03.24 12:00 +0200"}], time_format="%d.%m.%y %H:%M %z")
    assert believed["timestamp"][0] == datetime(2024, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "soon", "2024-13-01", "-5", "9" * 30, "nan", "inf"])
def test_what_is_no_time_is_quarantined(text):
    believed, quarantined = judge([{"timestamp": text}])
    assert len(believed) == 0
    assert quarantined["category"].to_list() == ["timestamp_unknown"]


@pytest.mark.parametrize("column", COLUMNS)
def test_what_is_null_is_quarantined(column):
    believed, quarantined = judge([{column: None}])
    assert len(believed) == 0
    assert quarantined["category"][0].startswith(column)


def test_clicks_are_yes_or_no_in_any_case():
    words = [*YES, *NO, " TRUE ", "No"]
    believed, _ = judge([{"clicked": word} for word in words])
    expected = [True] * len(YES) + [False] * len(NO) + [True, False]
    assert believed["clicked"].to_list() == expected


def test_positions_are_counted_from_the_first_one():
    believed, quarantined = judge([{"position": " 0"}, {"position": "3 "}], first_position=0)
    assert believed["position"].to_list() == [1, 4]
    assert len(quarantined) == 0


def test_a_row_has_the_first_of_its_reasons_and_keeps_what_it_was():
    _, quarantined = judge([{"session": None, "position": "x"}])
    assert quarantined.rows() == [("log.csv", 1, "session_missing", "session: '' is empty", "row")]


def test_a_reason_quotes_the_first_60_characters_of_a_value():
    values = ["x" * 60, "x" * 60 + "y", "日" * 61, "two"]
    believed, quarantined = judge([{"position": value} for value in values])
    assert len(believed) == 0
    quoted = ["x" * 60, "x" * 60, "日" * 60, "two"]
    assert quarantined["reason"].to_list() == [
        f"position: '{text}' is no whole number" for text in quoted
    ]
