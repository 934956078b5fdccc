"""Visits of an artefact, and tables of what is known of them."""

import polars as pl
import pytest

from ssi_core.guests.click_logs.rules import Rules
from ssi_core.guests.off_policy.visits import read_policy, read_propensities, read_visits
from ssi_core.types import BadInput
from tests.guests.click_logs import logs


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("visits")
    log = logs.write_csv(place / "log.csv", logs.rows(300))
    for rule in ("weighted", "all"):
        logs.ingest([log], logs.form(), place / rule, rules=Rules(clicks=rule))
    return place


def test_all_visits_are_read_clicked_or_not(place):
    found = read_visits(place / "weighted")
    log = pl.read_csv(place / "log.csv")
    expected = log.select(
        session="visit",
        query="url",
        document="ad",
        position="rank",
        clicked=pl.col("click") == 1,
    )
    assert found.sort(found.columns).equals(expected.sort(expected.columns))


def test_clicks_without_the_other_visits_are_refused(place):
    with pytest.raises(BadInput, match=r"no visits without a click.*clicks='weighted'"):
        read_visits(place / "all")


def test_propensities_are_those_of_the_clicks_or_of_a_table(place, tmp_path):
    assert read_propensities(place / "weighted")["propensity"][0] == 1
    (tmp_path / "looks.tsv").write_text("propensity\tposition\n1\t1\n0.5\t2\n")
    found = read_propensities(tmp_path / "looks.tsv")
    assert found.to_dict(as_series=False) == {"position": [1, 2], "propensity": [1.0, 0.5]}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ["p,a,1,0.5", "p,b,1,1.5"],
            "line 3: expected query, document, position .* probability from 0",
        ),
        (["p,a,first,0.5"], "line 2: expected"),
        (["p,a,0,0.5"], "line 2: expected"),
        (["p,a,1,NaN"], "line 2: expected"),
        (["p,a,1"], "line 2: expected"),
        (["p,a,1,0.5", "p,a,1,0.2"], "line 3: its query, document, position are there before"),
        ([], "no row is in it"),
    ],
)
def test_a_policy_that_cannot_be_one_is_refused(lines, said, tmp_path):
    table = tmp_path / "policy.csv"
    table.write_text("\n".join(["query,document,position,probability", *lines]) + "\n")
    with pytest.raises(BadInput, match=f"policy.csv: {said}"):
        read_policy(table)
