"""Ads and their landing pages."""

import gzip

import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.types import BadInput
from tests.corpora import clicked_pairs
from tests.datasets.dumps import real_data
from tests.sources import ingest

LINES = """-1 ad-cheap ad-hay title-hay hay sale
1 ad-cheap ad-hay title-hay hay sale
1 ad-cheap ad-hay header-cow milk
1 ad-tractor title-hay sale hay
1 ad-tractor
-1 milk
"""


def written(directory, text):
    directory.mkdir(exist_ok=True)
    with gzip.open(directory / "farm_ads_words.txt.gz", "wt") as file:
        file.write(text)
    return directory


def test_sides_share_words_and_a_repeated_line_is_one_pair(tmp_path):
    found = ingest("farm-ads", written(tmp_path / "in", LINES), tmp_path / "out")
    ads = pl.read_parquet(found.path / "queries" / "*.parquet")
    assert ads["text"].to_list() == ["cheap hay", "tractor"]
    pages = open_collection(found.path).documents.collect()
    assert pages["text"].to_list() == ["hay sale", "cow milk"]
    pairs = clicked_pairs(found.path)
    assert sorted(pairs["weight"]) == [1.0, 1.0, 2.0]
    assert found.skipped == {
        "line_repeated": 1, "line_without_ad": 1, "line_without_page": 1
    }  # fmt: skip
    assert found.counts["pairs"] + sum(found.skipped.values()) == found.counts["lines"]


def test_words_in_another_order_are_another_page(tmp_path):
    text = "1 ad-a b c\n1 ad-a c b\n"
    assert (
        ingest("farm-ads", written(tmp_path / "in", text), tmp_path / "out").counts["documents"]
        == 2
    )


def test_another_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match="line 1 begins with 'some'"):
        ingest("farm-ads", written(tmp_path / "in", "some words\n"), tmp_path / "out")


def test_the_published_ads(tmp_path):
    found = ingest("farm-ads", real_data("farm-ads"), tmp_path / "out")
    assert found.counts["lines"] == 3298
    assert found.counts["pairs"] + sum(found.skipped.values()) == 3298
    for side in ("queries", "documents"):
        texts = pl.read_parquet(found.path / side / "*.parquet")["text"]
        assert not texts.str.contains("ad-|title-|header-").any()
