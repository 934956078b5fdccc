"""The made-up shop: products, and a log in OpenSearch's format that is read back whole."""

import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.command.failures import DONE
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.sample import query_log
from ssi_core.sample.shop import write_shop
from tests.sources import ingest, needs_logs


def contents(path):
    return {str(file.relative_to(path)): file.read_bytes()
            for file in path.rglob("*") if file.is_file()}  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """400 products and 3,000 visits, and how many there are of each kind."""
    place = tmp_path_factory.mktemp("shop")
    return place, write_shop(place, products=400, visits=3000)


def test_equal_settings_give_equal_files(tmp_path):
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        write_shop(tmp_path / name, products=50, seed=seed)
    assert contents(tmp_path / "first") == contents(tmp_path / "again")
    assert contents(tmp_path / "first") != contents(tmp_path / "other")


@needs_logs
def test_the_log_is_read_back_whole(shop, tmp_path):
    path, counts = shop
    products = ingest("table", [path / "products.jsonl"], tmp_path / "products").path
    made = ingest("ubi", [path / "ubi"], tmp_path / "log", documents=products)
    assert counts["products"] == made.counts["documents"] == 400
    assert counts["queries"] == made.counts["queries_found"] == 3000
    assert counts["impressions"] + counts["clicks"] == made.counts["events_found"]
    assert counts["clicks"] == made.counts["clicks"]
    assert counts["judgements"] == made.counts["judgements"]
    reasons = ("event_of_unknown_query", "event_of_several_wordings", "impression_repeated")
    assert not any(made.skipped.get(name) for name in reasons)
    assert set(made.skipped["event_of_other_action"]) == set()
    titles = open_collection(made.path).names("documents")["title"]
    assert titles.to_list() == pl.read_ndjson(path / "products.jsonl")["title"].to_list()


def test_visitors_click_at_the_top_and_what_is_meant(shop):
    world = query_log.QueryLogWorld(
        titles=400, queries=500, judged=0, topics=2, gap=0.5, seed=0
    )  # fmt: skip
    rows = pl.concat(list(world.visits(3000)))
    assert rows.group_by("visit").agg(pl.col("document").n_unique() == pl.len())["document"].all()
    clicked = rows.group_by("position").agg(pl.col("clicked").mean()).sort("position")["clicked"]
    assert clicked[0] > 2 * clicked[3] > 4 * clicked[9]
    # What is clicked shares words with the query more often than what is shown.
    titles = dict(pl.concat(list(world.documents())).rows())
    shares = [bool({*text.split()} & {*titles[document].split()})
              for text, document in rows.select("text", "document").rows()]  # fmt: skip
    shared = (
        rows.with_columns(shared=pl.Series(shares)).group_by("clicked").agg(pl.col("shared").mean())
    )
    share = dict(shared.rows())
    assert share[True] > 1.5 * share[False]


def test_visits_in_blocks_go_on(monkeypatch):
    world = query_log.QueryLogWorld(titles=100, queries=50, judged=0, topics=1, gap=0.5, seed=0)
    monkeypatch.setattr(query_log, "_AT_ONCE", 70)
    blocks = list(world.visits(150))
    assert [block["visit"].n_unique() for block in blocks] == [70, 70, 10]
    assert len(list(world.texts())) == 2
    assert pl.concat(list(world.texts()))["id"].n_unique() == 100


def test_the_verb_writes_a_shop_in_place_of_the_encyclopedia(tmp_path, capsys):
    words = ["data", "sample", str(tmp_path / "shop"), "--shop", "--size", "40"]
    assert run(library, words) == DONE
    assert "queries 400" in capsys.readouterr().out
    assert {*contents(tmp_path / "shop")} == {
        "products.jsonl", "ubi/ubi_queries.ndjson", "ubi/ubi_events.ndjson",
        "ubi/judgements.json",
    }  # fmt: skip
