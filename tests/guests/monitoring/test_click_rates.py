import polars as pl
import pytest

from ssi_core import store
from ssi_core.guests.monitoring.click_rates import ClickRates, Rate, click_rates, jumps
from ssi_core.guests.monitoring.drift import profile
from tests.guests.click_logs import logs


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    path = tmp_path_factory.mktemp("clicks")
    log = logs.write_csv(path / "log.csv", logs.rows(400))
    return logs.ingest([log], logs.form(), path / "clicks").path, pl.read_csv(log)


def test_rates_are_of_all_rows_and_of_the_positions_of_clicked_slates(clicks):
    path, log = clicks
    made = click_rates(path)
    assert made.logs == {"log.csv": (path.parent / "log.csv").stat().st_size}
    found = made.rates
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
    with store.create(tmp_path / "clicks", kind="collection", key=key, **said) as building:
        building.counts |= {"impressions": 30, "clicks": 30}
        (building.path / "relations" / "shown").mkdir(parents=True)
    assert click_rates(tmp_path / "clicks") == ClickRates()


def test_rates_of_what_a_log_has_grown_by(clicks, tmp_path):
    path, _log = clicks
    before = click_rates(path)
    assert {rate.shown for rate in before.since(before).values()} == {0}
    whole = logs.rows(400)
    broken = [{**row, "visit": f"b{row['visit']}", "click": "0"} for row in logs.rows(100, seed=1)]
    for row in broken[::4]:
        row["click"] = "1"
    grown = logs.write_csv(tmp_path / "log.csv", whole + broken)
    now = click_rates(logs.ingest([grown], logs.form(), tmp_path / "clicks").path)
    new = now.since(before)
    assert new["click_rate"] == Rate(400, 100)
    assert new["click_rate_position_1"] == Rate(100, 100)
    assert new["click_rate_position_3"] == Rate(100, 0)

    other = ClickRates(now.rates, {"another.csv": 9})
    assert other.since(before) == now.rates
    assert now.since(ClickRates(before.rates)) == now.rates
    # Rows that went: it is no log that grew.
    assert before.since(ClickRates(now.rates, {"log.csv": 1})) == before.rates


def test_a_bad_day_is_not_hidden_by_the_days_before():
    log = {"log.csv": 10}
    old = ClickRates({"click_rate": Rate(10_000, 1000)}, log)
    new = ClickRates({"click_rate": Rate(12_000, 1010)}, {"log.csv": 12, "another.csv": 3})
    (said,) = jumps(new, old, 2)
    assert said.startswith("0.0050 clicks per showing, 0.1000 before")
    assert jumps(ClickRates(new.rates), old, 2) == []
    # What came is too little to tell.
    assert jumps(ClickRates({"click_rate": Rate(10_900, 1000)}, log), old, 2) == []


def test_rates_that_jump():
    old = ClickRates({"click_rate": Rate(10_000, 400), "click_rate_position_2": Rate(3000, 150)})
    assert jumps(old, old, 2) == []
    half = ClickRates({"click_rate": Rate(10_000, 190), "click_rate_position_2": Rate(3000, 100)})
    (said,) = jumps(half, old, 2)
    assert said.startswith("0.0190 clicks per showing, 0.0400 before, a factor of at most 2")
    assert jumps(half, old, 3) == []
    (said,) = jumps(ClickRates({"click_rate_position_2": Rate(3000, 301)}), old, 2)
    assert "0.1003 clicks per showing in position 2, 0.0500 before" in said
    # Too few to tell, or another position.
    few = ClickRates({"click_rate_position_2": Rate(400, 0), "new": Rate(9999, 9)})
    assert jumps(few, old, 2) == []
