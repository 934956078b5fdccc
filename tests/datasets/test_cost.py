import logging

import pytest

from ssi_core.datasets.wikipedia import cost
from ssi_core.types import Refused
from tests.datasets import dumps
from tests.sources import ingest


@pytest.fixture
def dump(tmp_path):
    text = dumps.xml(*dumps.many(20))
    return dumps.write(tmp_path / "enwiki-1-pages-articles.xml.bz2", text)


def test_an_ingestion_says_what_it_takes_and_writes_nothing_where_that_does_not_fit(
    dump, tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv("SSI_MEMORY", "100M")
    with pytest.raises(Refused, match=r"ingestion takes about 120 MB of memory, and 105 MB"):
        ingest("wikipedia", [dump], tmp_path / "corpus")
    assert [p.name for p in tmp_path.iterdir()] == [dump.name]
    monkeypatch.setenv("SSI_MEMORY", "1G")
    with caplog.at_level(logging.INFO):
        ingest("wikipedia", [dump], tmp_path / "corpus", processes=1)
    assert "the ingestion: takes about 120 MB of memory" in caplog.text


def test_what_grows_with_the_corpus_is_counted(dump, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(cost, "require", lambda stage, **takes: told.append(takes))
    with dump.open("r+b") as file:
        file.truncate(20 << 30)
    for processes in (1, 2, 64):
        cost.require_ingestion([dump], tmp_path, processes=processes, part_bytes=16 << 20)
    one, two, many = told
    assert one["memory"] == two["memory"] < many["memory"]
    assert (one["memory"], one["disk"]) == (10_987_921_200, 32_212_254_720)
    assert many["memory"] == 64 * (120_000_000 + 20 * (16 << 20))
    assert "processes" in many["remedy"]
    assert one["remedy"] == ""
