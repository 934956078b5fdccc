"""Judgements by themselves: tables, qrels, Discernatron's files."""

import gzip

import polars as pl
import pytest

from ssi_core.corpus.judged.rows import PAGES, QUERIES, SCORES, read_judged
from ssi_core.types import BadInput

ROWS = [("a query", "d1", 3.0), ("07", "d2", 0.0)]


def frame():
    return pl.DataFrame(ROWS, schema=["query", "document", "grade"], orient="row")


def test_tables_and_qrels_hold_the_same(tmp_path):
    frame().write_csv(tmp_path / "judged.csv")
    frame().write_ndjson(tmp_path / "judged.jsonl")
    frame().write_parquet(tmp_path / "judged.parquet")
    with gzip.open(tmp_path / "judged.tsv.gz", "wt") as file:
        file.write(frame().write_csv(separator="\t"))
    for path in sorted(tmp_path.iterdir()):
        assert read_judged(path).rows() == ROWS
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q1 0 d1 3\n07 0 d2 0\n")
    assert read_judged(qrels).rows() == [("q1", "d1", 3.0), ("07", "d2", 0.0)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("query,document,grade\na,d1,good\n", "line 2 has .*a number as the grade"),
        ("query,document,grade\na,d1,1\n,d2,1\n", "line 3 has"),
        ("query,document\na,d1\n", "grade"),
    ],
)
def test_a_damaged_table_names_the_place(tmp_path, text, problem):
    path = tmp_path / "judged.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=f"judged.csv.*{problem}"):
        read_judged(path)
    with pytest.raises(BadInput, match=r"judged\.xls: its name does not say"):
        read_judged(path.rename(tmp_path / "judged.xls"))


def discernatron(directory, **files):
    texts = {
        QUERIES: 'query_id\tquery\n1\t"""Babe"" on dvd"\n2\tmoon\n',
        SCORES: "query_id\tpage_id\tscore\treliable\n1\t7\t1.5\tTRUE\n1\t8\t0\tFALSE\n",
        PAGES: "page_id\tpage_title_db\tpage_title_api\n7\tBabe\tTalk:Babe\n8\tMoon\tMoon\n",
    }
    directory.mkdir()
    for name, text in (texts | files).items():
        (directory / name).write_text(text)
    return directory


def test_discernatron_gives_wordings_and_titles_with_their_namespace(tmp_path):
    assert read_judged(discernatron(tmp_path / "in")).rows() == [
        ('"Babe" on dvd', "Talk:Babe", 1.5),
        ('"Babe" on dvd', "Moon", 0.0),
    ]


def test_damaged_files_of_discernatron_are_named(tmp_path):
    lost = {SCORES: "query_id\tpage_id\tscore\n1\t7\t1\n1\t9\t2\n"}
    with pytest.raises(BadInput, match=f"{SCORES}: line 3: query_id '1', page_id '9'"):
        read_judged(discernatron(tmp_path / "lost", **lost))
    with pytest.raises(BadInput, match=f"{PAGES}: no column page_title_api"):
        read_judged(discernatron(tmp_path / "bare", **{PAGES: "page_id\n7\n"}))
    quoted = {QUERIES: 'query_id\tquery\n1\t"Babe" on dvd\n'}
    with pytest.raises(BadInput, match=f"{QUERIES}: line 2: .* expected after"):
        read_judged(discernatron(tmp_path / "quoted", **quoted))
    (tmp_path / "lost" / PAGES).unlink()
    with pytest.raises(BadInput, match=f"lost: {PAGES} missing"):
        read_judged(tmp_path / "lost")
