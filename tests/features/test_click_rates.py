import polars as pl
import pytest

from ssi_core import store
from ssi_core.corpus.clicks.build import ingest_clicks
from ssi_core.features.click_rates import Rate, click_rates, jumps
from ssi_core.features.drift import profile
from tests.corpus.clicks import logs


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    place = tmp_path_factory.mktemp("clicks")
    log = logs.write_csv(place / "log.csv", logs.rows(400))
    return ingest_clicks([log], logs.form(), place / "clicks").path, pl.read_csv(log)


def test_rates_are_of_all_rows_and_of_the_positions_of_clicked_slates(clicks):
    path, log = clicks
    found = click_rates(path)
    assert found["click_rate"] == Rate(len(log), log["click"].sum())
    clicked = log.filter((pl.col("click").sum() > 0).over("visit", "url"))
    for position in range(1, 5):
        own = clicked.filter(rank=position)
        assert found[f"click_rate_position_{position}"] == Rate(len(own), own["click"].sum())
    assert len(found) == 5


def test_a_profile_of_clicks(clicks):
    path, log = clicks
    found = profile(path)
    assert found.documents == log["url"].n_unique() + log["ad"].n_unique()
    assert found.links == store.read(path).counts["pairs"]
    assert found.numbers()["click_rate"] == log["click"].mean()
    assert {"page", "buy"} <= set(found.together.words)


def test_nothing_is_known_where_a_page_always_shows_the_same(clicks, tmp_path):
    key, said = "1", {"configuration": {}, "parents": {}}
    with store.create(tmp_path / "clicks", kind="clicks", key=key, **said) as building:
        building.counts |= {"impressions": 30, "clicks": 30}
        (building.path / "slates.parquet").touch()
    assert click_rates(tmp_path / "clicks") == {}


def test_rates_that_jump():
    old = {"click_rate": Rate(10_000, 400), "click_rate_position_2": Rate(3000, 150)}
    assert jumps(old, old, 2) == []
    half = {"click_rate": Rate(10_000, 190), "click_rate_position_2": Rate(3000, 100)}
    (said,) = jumps(half, old, 2)
    assert said.startswith("0.0190 clicks per showing, 0.0400 before, a factor of at most 2")
    assert jumps(half, old, 3) == []
    (said,) = jumps({"click_rate_position_2": Rate(3000, 301)}, old, 2)
    assert "0.1003 clicks per showing in position 2, 0.0500 before" in said
    # Too few to tell, or another position.
    assert jumps({"click_rate_position_2": Rate(400, 0), "new": Rate(9999, 9)}, old, 2) == []
