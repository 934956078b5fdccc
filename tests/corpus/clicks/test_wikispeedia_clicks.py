"""Clicks of Wikispeedia's players."""

import gzip

import polars as pl
import pytest

from ssi_core.corpus.clicks.artefact import IMPRESSIONS, PAIRS
from ssi_core.corpus.clicks.wikispeedia import clicks_of, ingest_wikispeedia_clicks
from ssi_core.corpus.tables import open_corpus
from ssi_core.types import BadInput
from tests.corpus.dumps import real_data
from tests.corpus.test_wikispeedia import release

FINISHED = """path_id\tplayer\ttimestamp\tdurationInSec\tpath\trating
7\tp1\t1227628729\t15\tA;B;<;B;A\t1.0
8\tp2\t1227628730\t15\tB;Donation;A\t
"""
UNFINISHED = (
    "# comment\n\np1\t1227628731\t15\tA\tB\trestart\np3\t1227628732\t15\tB;A;A\tB\ttimeout\n"
)


def games(directory):
    release(directory, {"A": "about a", "B": "about b"})
    for name, text in (("finished_unique", FINISHED), ("unfinished", UNFINISHED)):
        with gzip.open(directory / f"paths_{name}.tsv.gz", "wt") as file:
            file.write(text)
    return directory


@pytest.mark.parametrize(
    ("path", "clicks"),
    [
        ("A", []),
        ("A;B;C", ["AB", "BC"]),
        ("A;B;<;<;C", ["AB", "AC"]),
        ("A;B;C;<;<;D", ["AB", "BC", "AD"]),
    ],
)
def test_a_click_is_on_the_page_that_is_open(path, clicks):
    assert ["".join(click) for click in clicks_of(path)] == clicks


def test_games_become_clicks(tmp_path):
    found = ingest_wikispeedia_clicks(games(tmp_path / "in"), tmp_path / "out", split="sessions")
    events = pl.read_parquet(found.path / "impressions" / "*.parquet")
    assert events.schema == pl.Schema(IMPRESSIONS)
    assert events.select("session", "user", "page", "ad", "goal").rows() == [
        ("f7.0", "p1", "A", "B", "A"),
        ("f7.1", "p1", "A", "B", "A"),
        ("f7.2", "p1", "B", "A", "A"),
        ("u1.0", "p3", "B", "A", "B"),
    ]
    pairs = pl.read_parquet(found.path / "pairs.parquet")
    assert pairs.schema == pl.Schema(PAIRS)
    assert pairs.rows() == [("A", "B", 2, 2, 2.0), ("B", "A", 2, 2, 2.0)]
    slates = pl.read_parquet(found.path / "slates.parquet")
    assert slates.rows() == [("A", "B"), ("B", "A")]
    assert found.skipped == {"click_of_missing_article": 2, "click_on_no_link": 1}
    assert found.counts["clicks"] + sum(found.skipped.values()) == found.counts["clicks_found"]
    assert found.configuration["split"] == "sessions"
    assert len(open_corpus(found.path / "pages").documents.collect()) == 2
    assert not (found.path / "ads").exists()


def test_a_missing_file_of_paths_is_named(tmp_path):
    (games(tmp_path / "in") / "paths_unfinished.tsv.gz").unlink()
    with pytest.raises(BadInput, match=r"paths_unfinished.tsv.gz: there is no such file"):
        ingest_wikispeedia_clicks(tmp_path / "in", tmp_path / "out")


def test_the_published_clicks(tmp_path):
    found = ingest_wikispeedia_clicks(real_data("wikispeedia"), tmp_path / "out")
    assert found.counts["games"] == 28_718 + 24_875
    assert found.counts["clicks_found"] == 244_091
    assert found.counts["clicks"] + sum(found.skipped.values()) == 244_091
    assert found.counts["clicks"] == 243_611
    assert found.counts["pairs"] == 52_766
