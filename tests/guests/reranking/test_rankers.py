"""What every reranker does, and each against a plain twin or a toy whose best order is seen."""

import importlib.util
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ssi_core.arrays import check_arrays
from ssi_core.guests.reranking import lambdamart
from ssi_core.guests.reranking.adarank import AdaRank
from ssi_core.guests.reranking.base import Preferences
from ssi_core.guests.reranking.coordinate_ascent import STEPS, Climb, CoordinateAscent
from ssi_core.guests.reranking.kernels.rankboost import best_threshold
from ssi_core.guests.reranking.lambdamart import LambdaMart
from ssi_core.guests.reranking.measures import means, per_query
from ssi_core.guests.reranking.rankboost import RankBoost
from ssi_core.guests.reranking.rankers import RERANKERS, load_reranker, reranker_named
from ssi_core.guests.reranking.ranknet import RankNet
from ssi_core.types import BadInput, Refused
from tests.guests.reranking import made
from tests.robust.tally import attempt
from tests.seals import accepted
from tests.settings import hold

SMALL = {"rankboost": {"rounds": 60}, "adarank": {"rounds": 40}, "lambdamart": {"least": 5}}
SMALL["ranknet"] = {"rate": 0.05, "rounds": 40}
SMALL["coordinate_ascent"] = {"restarts": 2}
HAS_LIGHTGBM = importlib.util.find_spec("lightgbm") is not None
NAMES = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name == "lambdamart" and not HAS_LIGHTGBM, reason="LightGBM isn't installed"
        ),
    )
    for name in RERANKERS
    if name not in ("feature", "best_feature")
]


def small(name):
    return reranker_named(name, SMALL.get(name, {}), "test")


def mean_ap(fitted, features):
    return means(per_query(features, fitted.score(features)))["letor_map"]


@pytest.fixture(scope="module")
def sides():
    return [made.pairs([15] * 25, noise=0.1, seed=seed) for seed in (1, 2, 3)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("validated", [True, False])
def test_a_ranker_learns_an_order_and_is_the_same_again(name, validated, sides, tmp_path):
    train, valid, test = sides
    before = train.values.copy()
    fitted = small(name).fit(train, valid if validated else None)
    assert (train.values == before).all()
    # The best single feature, which carries most of the grade, is beaten.
    alone = means(per_query(test, test.values[:, 0]))["letor_map"]
    assert mean_ap(fitted, test) > alone + 0.01
    again = small(name).fit(train, valid if validated else None)
    assert (again.score(test) == fitted.score(test)).all()
    fitted.save(tmp_path / "model")
    loaded = load_reranker(tmp_path / "model")
    assert (loaded.score(test) == fitted.score(test)).all()
    assert loaded.ranker == fitted.ranker
    assert loaded.facts == fitted.facts


@pytest.mark.hostile("resealed directories")
@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_are_not_as_they_are_declared_are_refused(name, sides, tmp_path):
    fitted = small(name).fit(*sides[:2])
    fitted.save(tmp_path / "model")
    specs = fitted.ranker.kept_specs({"features": len(fitted.names)})
    assert specs.keys() == fitted.arrays.keys()
    files = {f"arrays/{name}": spec for name, spec in specs.items()}
    assert not accepted(tmp_path / "model", "reranker.json", load_reranker, files)


@pytest.mark.parametrize("name", NAMES)
def test_a_ranker_refuses_what_it_cannot_use(name, sides):
    train, _, test = sides
    flat = train.take([0, 1])
    flat.grade[:] = 1
    with pytest.raises(BadInput, match="no order to learn"):
        small(name).fit(flat)
    fitted = small(name).fit(train)
    other = test.with_values(test.values, ("1", "2", "3", "9"))
    with pytest.raises(BadInput, match=r"test\.txt: feature '9' is unknown"):
        fitted.score(other, "test.txt")
    # A feature that is in no line is 0 everywhere.
    fewer = test.columns(["1", "2", "3"])
    zero = test.with_values(test.values * [1, 1, 1, 0], test.names)
    assert (fitted.score(fewer) == fitted.score(zero)).all()


def test_a_ranker_of_another_name_or_setting_is_refused():
    with pytest.raises(BadInput, match="Did you mean 'rankrls'"):
        reranker_named("rankrsl", {}, "here")
    with pytest.raises(BadInput, match="here: rounds=0: expected at least 1"):
        reranker_named("ranknet", {"rounds": 0}, "here")
    with pytest.raises(BadInput, match="no key 'round'"):
        reranker_named("ranknet", {"round": 1}, "here")
    with pytest.raises(ValueError, match="expected letor_map"):
        RankNet(measure="map")


def test_a_directory_that_was_changed_or_is_no_reranker_is_refused(sides, tmp_path):
    fitted = small("rankrls").fit(sides[0])
    fitted.save(tmp_path / "model")
    fitted.save(tmp_path / "model")
    weights = tmp_path / "model" / "arrays" / "weights.npy"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(BadInput, match=r"weights\.npy"):
        load_reranker(tmp_path / "model")
    with pytest.raises(BadInput, match="holds no reranker"):
        load_reranker(tmp_path)
    with pytest.raises(Refused, match="left alone"):
        fitted.save(tmp_path)


def in_the_middle(seed):
    """Documents near the middle of the one feature that counts are the best ones."""
    features = made.pairs([12] * 40, features=2, seed=seed)
    grade = np.digitize(-np.abs(features.values[:, 0] - 0.5), [-0.25, -0.1]).astype(np.int32)
    features.grade[:] = grade
    return features


def test_ranknet_learns_an_order_that_no_line_has():
    train, test = in_the_middle(1), in_the_middle(2)
    fitted = RankNet(rate=0.05, rounds=150, units=6).fit(train)
    line = RERANKERS["rankrls"]().fit(train)
    assert mean_ap(fitted, test) > 0.95 > 0.75 > mean_ap(line, test)


@pytest.mark.skipif(not HAS_LIGHTGBM, reason="LightGBM isn't installed")
def test_lambdamart_learns_an_order_that_no_line_has():
    fitted = LambdaMart(rounds=60, least=5).fit(in_the_middle(1), in_the_middle(3))
    assert mean_ap(fitted, in_the_middle(2)) > 0.95


@pytest.mark.skipif(not HAS_LIGHTGBM, reason="LightGBM isn't installed")
@pytest.mark.parametrize("leaves", [2, 15])
def test_kept_trees_score_as_lightgbm_does_bit_by_bit(leaves):
    import lightgbm

    random = np.random.default_rng(leaves)
    values = random.normal(size=(3000, 4))
    values[random.random(values.shape) < 0.2] = np.nan
    values[:, 3] = np.round(np.nan_to_num(values[:, 3]))  # no value is missing, many are equal
    grade = np.nan_to_num(values[:, 0]) + np.isnan(values[:, 1]) + values[:, 3] > 0.5
    data = lightgbm.Dataset(values[:2000], label=grade[:2000], group=[20] * 100)
    settings = {"objective": "lambdarank", "num_leaves": leaves, "verbosity": -1, "num_threads": 1}
    trees = lightgbm.train(settings, data, num_boost_round=30)
    values[2000:2100, 3] = np.nan  # a missing value where the training had none
    arrays = lambdamart._arrays(trees.model_to_string())
    check_arrays(LambdaMart().array_specs({"features": 4}), arrays, Path("trees"), "")
    ours = LambdaMart(leaves=leaves).scores(arrays, values)
    assert len(np.unique(ours)) > 20
    np.testing.assert_array_equal(ours, trees.predict(values, num_threads=1))


@pytest.mark.hostile("resealed directories")
def test_trees_that_lead_back_to_their_root_end():
    """LightGBM itself never ends on such a tree."""
    nodes = {"left": [0, 1], "right": [1, 1], "feature": [0, 0], "unknown": [0, 0], "roots": [0]}
    arrays = {name: np.array(values) for name, values in nodes.items()}
    with attempt():
        LambdaMart().scores({**arrays, "value": np.array([5.0, 1.0])}, np.zeros((3, 1)))


@pytest.mark.skipif(HAS_LIGHTGBM, reason="LightGBM is installed")
def test_lambdamart_without_lightgbm_names_the_extra(sides):
    with pytest.raises(Refused, match=r"pip install 'ssi\[lambdamart\]'"):
        LambdaMart().fit(sides[0])


def test_ranknet_halves_its_rate_where_the_loss_rises(sides):
    wild = RankNet(rate=3.0, rounds=30).fit(sides[0])
    assert wild.facts["rate_at_the_end"] < 3
    assert np.isfinite(wild.score(sides[2])).all()


@pytest.mark.parametrize("kind", [partial(RankNet, rate=0.2), AdaRank], ids=["ranknet", "adarank"])
def test_the_round_that_is_kept_is_the_best_of_trainings_of_so_many_rounds(kind, sides):
    train, valid, _ = sides
    fits = [kind(rounds=rounds).fit(train) for rounds in range(1, 13)]
    values = [mean_ap(fit, valid) for fit in fits]
    best = int(np.argmax(values))
    assert best > 0
    chosen = kind(rounds=12).fit(train, valid)
    assert chosen.facts["round"] == best + 1
    assert chosen.facts["chosen_value"] == pytest.approx(values[best], rel=1e-12)
    assert (chosen.score(valid) == fits[best].score(valid)).all()


def test_the_weak_ranker_of_rankboost_is_the_best_of_all():
    rng = np.random.default_rng(6)
    values = np.round(rng.random((3, 20)), 1)
    potential = rng.normal(size=20)
    potential -= potential.mean()
    falling = np.argsort(-values, axis=1, kind="stable")
    best = np.empty(1)
    feature, threshold = best_threshold(values, falling, potential, best)
    everything = {
        (f, float(t)): potential[values[f] > t].sum()
        for f in range(3)
        for t in np.unique(values[f])
    }
    largest = max(everything.values(), key=abs)
    assert best[0] == pytest.approx(largest)
    assert everything[feature, threshold] == pytest.approx(largest)


def test_rankboost_keeps_the_bound_of_its_rounds(sides):
    """The share of wrong pairs is at most the product of sqrt(1 - r^2) (section 4 of the paper)."""
    train = sides[0]
    fitted = RankBoost(rounds=40).fit(train)
    pairs, scores = Preferences.of(train), fitted.score(train)
    wrong = np.mean(scores[pairs.better] <= scores[pairs.worse])
    r = np.tanh(fitted.arrays["alpha"])
    assert wrong <= np.prod(np.sqrt(1 - r**2)) < 1


def test_adarank_begins_with_the_best_feature_and_sets_repeated_ones_aside(sides):
    train = sides[0]
    first = AdaRank(rounds=1).fit(train)
    alone = {f: means(per_query(train, train.values[:, f]))["letor_map"] for f in range(4)}
    (position,) = np.flatnonzero(first.arrays["weights"])
    assert position == max(alone, key=alone.get)
    ap = per_query(train, train.values[:, position])["letor_map"]
    alpha = 0.5 * np.log(np.mean(1 + ap) / np.mean(1 - ap))
    assert first.arrays["weights"][position] == pytest.approx(alpha)
    many = AdaRank(rounds=30, repeats=1, tolerance=1.0).fit(train)
    assert many.facts["rounds"] == many.facts["features"] == 4


def test_coordinate_ascent_climbs_and_turns_a_feature_upside_down():
    train = made.pairs([10] * 20, weights=[1, -1, 0, 0], noise=0.05, seed=7)
    fitted = CoordinateAscent(restarts=3).fit(train)
    assert fitted.facts["train"] == max(fitted.facts["train_of_starts"])
    assert mean_ap(fitted, train) == pytest.approx(fitted.facts["train"])
    weights = fitted.arrays["weights"]
    assert weights[0] > 0 > weights[1]
    assert np.abs(weights).sum() == pytest.approx(1)
    assert mean_ap(fitted, train) > 0.95


def naive_climb(train, weights, turns, passes):
    """The climb of the docstring: the best of all steps of one weight after another."""

    def value(some):
        return means(per_query(train, train.values @ some))["letor_map"]

    weights = weights / np.abs(weights).sum()
    for _ in range(passes):
        for feature in turns:
            unit = np.eye(len(weights))[feature]
            moved = [weights + step * unit for step in (-weights[feature], *STEPS)]
            best = max(moved, key=value)
            if value(best) > value(weights):
                weights = best / np.abs(best).sum()
    return value(weights)


def test_a_climb_takes_all_its_passes_and_begins_with_weights_that_sum_to_one():
    train = made.pairs([12] * 20, features=5, noise=0.4, seed=11)
    turns, values = [3, 0, 4, 1, 2], []
    for passes in (1, 2, 3):
        climb = Climb(train, "letor_map", 0.0, passes)
        first = np.array([0.2, -0.3, 0.5, 1.0, 2.0])
        weights, value = climb.up(first, turns)
        assert value == pytest.approx(naive_climb(train, first, turns, passes))
        assert np.abs(weights).sum() == pytest.approx(1)
        # A step is as large for weights of any size: their directions alone count.
        np.testing.assert_allclose(climb.up(1000 * first, turns)[0], weights)
        values.append(value)
    assert values[0] < values[1]


def test_settings_are_those_of_the_file():
    hold(__file__, RERANKERS)
