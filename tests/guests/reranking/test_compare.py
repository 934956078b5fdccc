"""Tables of rerankers, and the printed values of MQ2008."""

import numpy as np
import pytest

from ssi_core.evaluation.significance import holm
from ssi_core.guests.reranking.compare import compare
from ssi_core.guests.reranking.letor import read_folds
from ssi_core.guests.reranking.pairs import Fold
from ssi_core.guests.reranking.table import read_table
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data
from tests.guests.reranking import made

TABLE = """\
name = "small"
title = "Small"

[[rows]]
label = "least squares"
ranker = "rankrls"
lambdas = [1.0, 8.0]
[rows.printed]
letor_map = [0.5, 0.7]

[[rows]]
label = "one feature"
ranker = "greedy_rankrls"
most = 1

[[rows]]
label = "of the paper"
[rows.printed]
letor_map = [0.5, 0.6]
"""


def folds():
    return [
        Fold(f"Fold{n}", *(made.pairs([12] * 15, seed=10 * n + side) for side in range(3)))
        for n in (1, 2)
    ]


def written(tmp_path, text):
    path = tmp_path / "table.toml"
    path.write_text(text)
    return str(path)


def test_a_table_is_computed(tmp_path):
    result = compare(folds(), read_table(written(tmp_path, TABLE)))
    first, second, third, *_ = result["rows"]
    assert result["baseline"] == "least squares"
    assert result["queries"] == 30
    assert first["printed"]["letor_map"] == {"folds": [0.5, 0.7], "mean": pytest.approx(0.6)}
    assert first["means"]["letor_map"] == pytest.approx(
        np.mean([one["measures"]["letor_map"] for one in first["folds"]])
    )
    assert "tests" not in first
    tests = [second["tests"][name] for name in result["measures"]]
    assert all(one["p_holm"] == holm([one["p"]])[0] for one in tests)
    assert second["tests"]["letor_map"]["difference"] < 0
    assert set(third) == {"label", "note", "printed"}


def test_a_row_is_tested_against_the_rows_that_it_names(tmp_path):
    text = TABLE.replace(
        'label = "of the paper"',
        'label = "another feature"\nranker = "greedy_rankrls"\nmost = 2\n'
        'against = ["one feature", "least squares"]',
    )
    result = compare(folds(), read_table(written(tmp_path, text)))
    _, second, third, *_ = result["rows"]
    assert (second["against"], third["against"]) == ("least squares", "one feature")
    assert "further_tests" not in second
    further = third["further_tests"]["least squares"]
    for name in result["measures"]:
        means = [row["means"][name] for row in result["rows"]]
        assert third["tests"][name]["difference"] == pytest.approx(means[2] - means[1])
        assert further[name]["difference"] == pytest.approx(means[2] - means[0])
        three = second["tests"][name], third["tests"][name], further[name]
        adjusted = holm([one["p"] for one in three])
        assert [one["p_holm"] for one in three] == pytest.approx(adjusted)
    with pytest.raises(BadInput, match=r"against 'one featur'\. Did you mean 'one feature'"):
        read_table(written(tmp_path, text.replace('["one feature"', '["one featur"')))


def test_some_rows_of_a_table():
    table = read_table("mq2008").select(("RankNet", "RankSVM"))
    assert [row.label for row in table.rows] == ["RankSVM", "RankNet"]
    assert table.baseline == "RankNet"
    with pytest.raises(BadInput, match="Did you mean 'RankNet'"):
        table.select(("Ranknet",))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('ranker = "rankrls"', 'ranker = "rankrsl"', "Did you mean 'rankrls'"),
        ("lambdas", "lambda", "no key 'lambda'"),
        ("[1.0, 8.0]", "[0.0]", "lambdas="),
        ('"one feature"', '"least squares"', "each label once"),
        ('title = "Small"', 'titel = "Small"', "no key 'titel'"),
        ('title = "Small"', 'title = "Small"\nbaseline = "other"', "no row for the baseline"),
        ("letor_map = [0.5, 0.6]", "map = [0.5, 0.6]", "expected letor_map"),
        ('"of the paper"', '"of the paper"\nmost = 1', "without a ranker"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path, old, new, message):
    assert old in TABLE
    with pytest.raises(BadInput, match=r"table\.toml") as error:
        read_table(written(tmp_path, TABLE.replace(old, new)))
    assert message in str(error.value)
    with pytest.raises(BadInput, match="Did you mean 'mq2008'"):
        read_table("mq2007")


@pytest.fixture(scope="module")
def printed_rows():
    archive = real_data("letor-mq2008", "MQ2008_folds.tar.xz")
    table = read_table("mq2008").select(("greedy RankRLS", "RankRLS"))
    return compare(read_folds(archive), table)["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1], ids=["greedy RankRLS", "RankRLS"])
def test_every_printed_value_of_mq2008_is_met_in_four_digits(printed_rows, place):
    row = printed_rows[place]
    for name, printed in row["printed"].items():
        ours = [fold["measures"][name] for fold in row["folds"]]
        assert [f"{value:.4f}" for value in ours] == [f"{value:.4f}" for value in printed["folds"]]


@pytest.mark.slow
def test_greedy_rankrls_selects_the_printed_features(printed_rows):
    """Table 2 of the paper: lambda and the features of each fold, in their order."""
    facts = [fold["facts"] for fold in printed_rows[0]["folds"]]
    assert [one["lambda"] for one in facts] == [2**0, 2**10, 2**3, 2**6, 2**0]
    assert [one["selected"] for one in facts] == [
        ["39"],
        ["39", "23", "37", "32"],
        ["39", "29", "25", "23", "46", "37", "19"],
        ["39", "29", "25", "23"],
        ["39"],
    ]
    assert printed_rows[0]["cpu_seconds"] < 60
