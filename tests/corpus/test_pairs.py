"""Translated pairs in a table are a collection of two languages."""

import polars as pl
import pytest

from ssi_core.collection import TRANSLATION, open_collection
from ssi_core.types import BadInput
from tests.sources import ingest

ROWS = [
    ("自動車は速い", "the car is fast"), ("犬は走る", "the dog runs"), ("犬は走る", "the dog runs"),
    ("犬は走る", "a dog is running"), ("", "nothing"), ("月", "the moon"),
]  # fmt: skip


def write(path, names, separator="\t"):
    lines = [names, *ROWS]
    path.write_text("".join(separator.join(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("names", "separator", "columns", "languages"),
    [
        (("query", "document"), ";", {}, ["ja", "en"]),
        (("ja", "simple"), "|", {}, ["ja", "simple"]),
        (("source", "target"), ",", {}, ["ja", "en"]),
        (("japanisch", "englisch"), ";", {"query": "japanisch"}, ["ja", "en"]),
    ],
)
def test_a_row_is_a_text_and_its_translation(tmp_path, names, separator, columns, languages):
    path = write(tmp_path / "pairs.csv", names, separator)
    made = ingest("pairs", path, tmp_path / "out", columns=columns)
    both = open_collection(made.path)
    assert both.relevant == (TRANSLATION,)
    texts = {side: pl.read_parquet(both.parts(side)) for side in ("queries", "documents")}
    pairs = both.frame(f"relations/{TRANSLATION}")
    for side, end in (("queries", "source"), ("documents", "target")):
        named = texts[side].select("id", pl.col("text").alias(side))
        pairs = pairs.join(named, left_on=end, right_on="id")
    assert pairs.select("queries", "documents").rows() == [ROWS[0], ROWS[1], ROWS[5]]
    assert [texts[side]["language"][0] for side in texts] == languages
    assert made.skipped == {"pair_incomplete": 1, "pair_of_another_text": 1, "pair_repeated": 1}
    assert made.counts["pairs_found"] == len(ROWS) == 3 + sum(made.skipped.values())


def test_a_table_of_more_columns_says_which_are_asked_for(tmp_path):
    (tmp_path / "a.csv").write_text("nr,de,en\n1,ein Hund,a dog\n")
    with pytest.raises(BadInput, match=r"columns=\{'query': 'NAME', 'document': 'NAME'\}"):
        ingest("pairs", tmp_path / "a.csv", tmp_path / "out")
    how = {"columns": {"query": "de", "document": "en"}, "languages": ("de", "en")}
    made = ingest("pairs", tmp_path / "a.csv", tmp_path / "out", **how)
    assert made.counts["queries_language"] == "de"
    (tmp_path / "b.csv").write_text("de,en\nein Hund,\n")
    with pytest.raises(BadInput, match="no row has a text and its translation"):
        ingest("pairs", tmp_path / "b.csv", tmp_path / "none")
