"""Clicks of Wikispeedia's players."""

import gzip

import numpy as np
import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.corpus.click_tables import IMPRESSIONS
from ssi_core.datasets.wikispeedia_clicks import clicks_of
from ssi_core.types import BadInput
from tests.corpora import PAIRS, clicked_pairs
from tests.datasets.dumps import real_data
from tests.datasets.test_wikispeedia import release
from tests.sources import ingest

HEADER = "path_id\tplayer\ttimestamp\tdurationInSec\tpath\trating\n"
FINISHED = f"""{HEADER}7\tp1\t1227628729\t15\tA;B;<;B;A\t1.0
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


def players_of(directory, articles=12, games=300):
    """Games on articles of which each links to four others."""
    rng = np.random.default_rng(0)
    names = [f"A{i}" for i in range(articles)]
    texts = {name: f"about {name} and word{i % 5} word{i % 3}" for i, name in enumerate(names)}
    to = {name: [names[(i + k) % articles] for k in (1, 2, 3, 5)] for i, name in enumerate(names)}
    links = "".join(f"{name}\t{other}\n" for name in names for other in to[name])
    release(directory, texts, links, names=names)
    rows = []
    for game in range(games):
        way = [names[rng.integers(articles)]]
        for _ in range(4):
            way.append(to[way[-1]][min(rng.geometric(0.5) - 1, 3)])
        rows.append(f"{game}\tp{game % 60}\t{1227628729 + game}\t15\t{';'.join(way)}\t1.0\n")
    for name, text in (("finished_unique", HEADER), ("unfinished", "")):
        with gzip.open(directory / f"paths_{name}.tsv.gz", "wt") as file:
            file.write(text + ("".join(rows) if text else ""))
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
    found = ingest("wikispeedia-clicks", games(tmp_path / "in"), tmp_path / "out")
    events = pl.read_parquet(found.path / "impressions" / "*.parquet")
    assert events.schema == pl.Schema(IMPRESSIONS)
    assert events.select("session", "user", "query", "document", "goal").rows() == [
        ("f7.0", "p1", "A", "B", "A"),
        ("f7.1", "p1", "A", "B", "A"),
        ("f7.2", "p1", "B", "A", "A"),
        ("u1.0", "p3", "B", "A", "B"),
    ]
    pairs = clicked_pairs(found.path)
    assert pairs.schema == pl.Schema(PAIRS)
    assert pairs.rows() == [("A", "B", 2, 2, 2.0, None), ("B", "A", 2, 2, 2.0, None)]
    slates = open_collection(found.path).frame("relations/shown")
    assert slates.rows() == [("A", "B"), ("B", "A")]
    skipped = {name: n for name, n in found.skipped.items() if name.startswith("click")}
    assert skipped == {"click_of_missing_article": 2, "click_on_no_link": 1}
    assert found.counts["clicks"] + sum(skipped.values()) == found.counts["clicks_found"]
    assert len(open_collection(found.path).documents.collect()) == 2
    assert not open_collection(found.path).has_queries


def test_a_missing_file_of_paths_is_named(tmp_path):
    (games(tmp_path / "in") / "paths_unfinished.tsv.gz").unlink()
    with pytest.raises(BadInput, match=r"paths_unfinished.tsv.gz: there is no such file"):
        ingest("wikispeedia-clicks", tmp_path / "in", tmp_path / "out")


@pytest.mark.slow
def test_the_published_clicks(tmp_path):
    found = ingest("wikispeedia-clicks", real_data("wikispeedia"), tmp_path / "out")
    assert found.counts["games"] == 28_718 + 24_875
    assert found.counts["clicks_found"] == 244_091
    skipped = sum(n for name, n in found.skipped.items() if name.startswith("click"))
    assert found.counts["clicks"] + skipped == 244_091
    assert found.counts["clicks"] == 243_611
    assert found.counts["pairs"] == 52_766
