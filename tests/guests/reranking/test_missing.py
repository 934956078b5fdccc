"""Missing values are worse than all others of their query, whatever their direction."""

import numpy as np
import polars as pl
import pytest

from ssi_core.guests.reranking.base import Linear
from ssi_core.guests.reranking.compare import compare
from ssi_core.guests.reranking.letor import read_letor, write_letor
from ssi_core.guests.reranking.measures import means, per_query
from ssi_core.guests.reranking.missing import filled, learn_missing, scaled
from ssi_core.guests.reranking.pairs import Fold, PairFeatures, digest
from ssi_core.guests.reranking.rankers import RERANKERS, load_reranker, reranker_named
from ssi_core.guests.reranking.reranked import Reranked
from ssi_core.guests.reranking.table import read_table
from ssi_core.types import BadInput
from tests.guests.reranking import made
from tests.guests.reranking.test_rankers import NAMES

NAN = float("nan")


def ranks_of_systems(queries, seed, *, systems=8, documents=30):
    """Pairs whose features are the ranks that systems give the few documents that they return."""
    rng, values, grades = np.random.default_rng(seed), [], []
    for _ in range(queries):
        grade = np.digitize(rng.normal(size=documents), [0.9, 1.6])
        ranks = np.full((documents, systems), NAN)
        for system, quality in enumerate(np.linspace(0.2, 1.5, systems)):
            depth = rng.integers(3, 12)
            order = np.argsort(rng.normal(size=documents) - quality * grade)[:depth]
            ranks[order, system] = np.arange(1, depth + 1)
        returned = ~np.isnan(ranks).all(axis=1)
        values.append(ranks[returned])
        grades.append(grade[returned])
    sizes = [len(one) for one in grades]
    return PairFeatures(
        np.concatenate(values),
        np.concatenate(grades).astype(np.int32),
        pl.Series([f"{seed}-{n}" for n in range(queries)], dtype=pl.String),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        pl.Series([f"d{n}" for n in range(sum(sizes))], dtype=pl.String),
        tuple(f"system {n}" for n in range(systems)),
    )


@pytest.fixture(scope="module")
def sides():
    return [ranks_of_systems(count, seed) for seed, count in enumerate((60, 30, 80))]


def measured(fitted, test):
    return means(per_query(test, fitted.score(test)))["letor_map"]


def as_zero(features):
    return features.with_values(np.nan_to_num(features.values), features.names)


def of_columns(lists, *columns):
    features = made.of([[(grade, 0) for grade in one] for one in lists])
    return features.with_values(np.array(columns, float).T, [str(n) for n in range(len(columns))])


def test_null_nan_and_nothing_are_missing_and_what_is_left_out_is_zero(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("1 qid:1 1:NULL 2:1 3:nan\n0 qid:1 1:2 2: 3:null\n0 qid:1 2:3 3:4\n")
    features = read_letor(path)
    assert features.missing == 4
    expected = [[NAN, 1, NAN], [2, NAN, NAN], [0, 3, 4]]
    np.testing.assert_array_equal(features.values, expected)
    write_letor(features, tmp_path / "again.txt")
    assert "1:NULL" in (tmp_path / "again.txt").read_text()
    np.testing.assert_array_equal(read_letor(tmp_path / "again.txt").values, expected)
    path.write_text("1 qid:1 1:NULL 2:one\n")
    with pytest.raises(BadInput, match="the value 'one' is no number"):
        read_letor(path)


def test_a_missing_value_is_a_step_behind_the_worst_of_its_query():
    # Ranks, scores, and what one query alone has; the second query has one value, the third none.
    train = of_columns(
        [(2, 1, 0, 0), (1, 0), (0, 1)],
        [1, 2, 3, NAN, 1, NAN, NAN, NAN],
        [9, 7, 5, NAN, 4, NAN, NAN, NAN],
    )
    learnt = learn_missing(train)
    assert learnt[0].tolist() == [-1, 1]
    assert learnt[1].tolist() == [1, 2]
    assert filled(train, learnt).values.T.tolist() == [
        [1, 2, 3, 4, 1, 2, 3, 3],
        [9, 7, 5, 3, 4, 2, 2.5, 2.5],
    ]
    small = scaled(train)
    np.testing.assert_array_equal(
        small.values.T,
        [[0, 0.5, 1, NAN, 0, NAN, NAN, NAN], [1, 0.5, 0, NAN, 0, NAN, NAN, NAN]],
    )
    # Where no query has two values, the step is 1.
    single = of_columns([(1, 0)], [5, NAN])
    assert filled(single, learn_missing(single)).values.T.tolist() == [[5, 4]]
    learnt[0, 1] = 0
    assert np.isnan(filled(train, learnt).values[:, 1]).sum() == 4


@pytest.mark.parametrize("name", NAMES)
def test_missing_ranks_are_better_read_as_missing_than_as_zero(name, sides, tmp_path):
    ranker = reranker_named(name, {"scale": True}, "test")
    zero_sides = [as_zero(one) for one in sides]
    fitted, other = ranker.fit(*sides[:2]), ranker.fit(*zero_sides[:2])
    ours, zero = measured(fitted, sides[2]), measured(other, zero_sides[2])
    # Trees and thresholds can tell 0 from the ranks; a line cannot.
    assert ours > zero + (0.03 if isinstance(ranker, Linear) else -0.02)
    assert fitted.facts["missing_values"] == sides[0].missing
    fitted.save(tmp_path / "model")
    loaded = load_reranker(tmp_path / "model")
    assert (loaded.score(sides[2]) == fitted.score(sides[2])).all()
    # What stands for a missing value is of the query alone, and so is its scale.
    alone = sides[2].take([3])
    assert (fitted.score(alone) == fitted.score(sides[2])[list(sides[2].lists())[3][1]]).all()


def test_the_best_feature_has_its_direction(sides):
    fitted = RERANKERS["best_feature"]().fit(sides[0])
    assert fitted.facts["feature"] == "system 7"
    assert fitted.facts["direction"] == "lower is better"
    upside = sides[0].with_values(-sides[0].values, sides[0].names)
    other = RERANKERS["best_feature"]().fit(upside)
    assert other.facts == fitted.facts | {"direction": "higher is better"}


def test_the_fusion_adds_reciprocal_ranks_and_nothing_for_what_is_missing():
    train = of_columns([(2, 1, 0, 0)], [1, 2, NAN, 3], [0.9, 0.4, 0.4, NAN], [NAN, 1, 1, 1])
    fitted = RERANKERS["fusion"](constant=10.0).fit(train)
    expected = [
        1 / 11 + 1 / 11,
        1 / 12 + 1 / 12.5 + 1 / 12,
        1 / 12.5 + 1 / 12,
        1 / 13 + 1 / 12,
    ]
    np.testing.assert_allclose(fitted.score(train), expected)


TABLE = """\
name = "of-ranks"
title = "Published"
data = "{data}"

[[rows]]
label = "least squares"
ranker = "rankrls"
note = "printed elsewhere"
[rows.printed]
letor_map = [0.5]

[[rows]]
label = "first system"
ranker = "feature"
feature = "system 0"

[[rows]]
label = "of the paper"
[rows.printed]
letor_map = [0.6]
"""


def test_every_ranker_is_at_or_above_the_fusion_or_is_named(sides, tmp_path):
    folds = [Fold("Fold1", *sides)]
    path = tmp_path / "table.toml"
    path.write_text(TABLE.format(data=digest(folds)))
    result = compare(folds, read_table(str(path)), scale=True)
    rows = {row["label"]: row for row in result["rows"]}
    assert list(rows)[-2:] == ["best feature", "rank fusion"]
    fusion = result["references"]["rows"]["rank fusion"]
    mean = rows["rank fusion"]["means"]["letor_map"]
    assert result["references"]["measure"] == "letor_map"
    assert fusion["mean"] == mean
    assert rows["least squares"]["means"]["letor_map"] >= mean
    assert fusion["below"] == ["first system"]
    test = fusion["tests"]["first system"]
    assert test["difference"] == pytest.approx(rows["first system"]["means"]["letor_map"] - mean)
    assert test["p_holm"] >= test["p"]
    assert result["missing_values"] == sides[2].missing
    assert result["values"] == sides[2].values.size


def test_what_is_printed_of_other_data_is_not_repeated(sides, tmp_path):
    folds, path = [Fold("Fold1", *sides)], tmp_path / "table.toml"
    path.write_text(TABLE.format(data=digest(folds)))
    own = compare(folds, read_table(str(path)), name="ranks")
    assert (own["table"], own["title"]) == ("of-ranks", "Published")
    assert own["rows"][0]["printed"]["letor_map"]["mean"] == 0.5
    path.write_text(TABLE.format(data="0" * 16))
    other = compare(folds, read_table(str(path)), name="ranks")
    assert (other["table"], other["title"]) == ("rankers", "Rankers on ranks")
    assert not any("printed" in row for row in other["rows"])
    assert "elsewhere" not in str(other)
    assert "of the paper" not in [row["label"] for row in other["rows"]]
    assert other["rows"][0]["means"] == own["rows"][0]["means"]


def test_the_digest_of_folds_is_of_all_that_they_hold(sides):
    folds = [Fold("Fold1", *sides)]
    train = sides[0]
    values = train.values.copy()
    values[np.isnan(values)] = 0
    grade = train.grade.copy()
    grade[0] += 1
    others = [
        train.with_values(values, train.names),
        train.with_values(train.values, [*train.names[:-1], "another"]),
        PairFeatures(**{**vars(train), "grade": grade}),
        train.take(range(1, len(train.queries))),
    ]
    every = {digest(folds), digest([Fold("Fold2", *sides)])}
    every |= {digest([Fold("Fold1", one, *sides[1:])]) for one in others}
    assert len(every) == 6


def test_a_fusion_of_features_is_no_second_stage():
    with pytest.raises(ValueError, match="its scores depend on the whole list"):
        Reranked(parts=({"model": "bm25"},), ranker="fusion")
    assert Reranked(parts=({"model": "bm25"},), ranker="best_feature").reranker().name
