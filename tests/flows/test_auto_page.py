"""The page of `auto`: its table is the committed results, and a set can be computed anew."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.auto import SETS, Set, corrected, measured, table

DOCS = Path(__file__).parents[2] / "docs"
SMALL = {"first": 500, "budget": 3_000, "dimensions": 8}


def test_the_page_shows_what_was_measured():
    sets = json.loads((DOCS / "results" / "auto.json").read_text())["sets"]
    lines = table(sets)
    shown = [
        line
        for line in (DOCS / "auto.md").read_text().splitlines()
        if line.count("|") == 11 and line.startswith(tuple(f"| {name} |" for name in SETS))
    ]
    assert shown == lines


@pytest.mark.trains
def test_a_set_is_measured_row_by_row_on_the_same_queries(corpus_dir):
    one = measured("links", Set("", "map", {}), corpus_dir, **SMALL)
    rows = {row["row"]: row for row in one["rows"]}
    assert set(rows) == {"auto", "BM25", "TF-IDF", "TF-IDF, 1 + ln tf", "LSI mix", "U'V + D"}
    assert one["untrained"] in rows
    for label, row in rows.items():
        if label != "auto":
            difference = rows["auto"]["measures"]["map"]["mean"] - row["measures"]["map"]["mean"]
            assert row["difference"] == pytest.approx(difference)
            assert row["limit"] >= -row["difference"]
    corrected([one])
    best = rows[one["untrained"]]
    assert best["p_adjusted"] == best["p"]
    (line,) = table([one])
    assert re.match(r"\| links \| [\d,]+ \| MAP \|", line)
    assert line.count("|") == 11


def test_p_over_several_sets_is_corrected():
    def one(p):
        return {"untrained": "BM25", "rows": [{"row": "BM25", "p": p, "p_inferior": p}]}

    sets = [one(0.01), one(0.04)]
    corrected(sets)
    assert [each["rows"][0]["p_adjusted"] for each in sets] == pytest.approx([0.02, 0.04])
