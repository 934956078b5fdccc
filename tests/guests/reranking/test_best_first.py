"""Best-first search against the paper's procedure, and what a ranker makes of the subsets."""

from itertools import combinations

import numpy as np
import pytest

from ssi_core.guests.reranking import best_first_selection
from ssi_core.guests.reranking.best_first import BestFirst, best_alone, combination, partition
from ssi_core.guests.reranking.best_first_selection import BestFirstSelection
from ssi_core.guests.reranking.kernels.rank_lists import try_steps
from ssi_core.guests.reranking.measures import Grades, measure_named
from ssi_core.guests.reranking.rankers import load_reranker, reranker_named
from ssi_core.types import BadInput
from tests.guests.reranking import made

NDCG = "letor_ndcg_at_5"


class Landscape(BestFirst):
    """A search whose nodes have values of a table, and no ranker."""

    def _train(self, features):
        return np.ones(len(features)), self.climb[frozenset(features)]


def as_printed(values, first, pool, size, rounds):
    """Table 1 of the paper; nodes that were visited are not trained again."""
    waiting, visited, best, unchanged = [first], {first}, None, 0
    while waiting:
        node = max(waiting, key=lambda one: values[one])
        waiting.remove(node)
        if best is None or values[node] > values[best]:
            best, unchanged = node, 0
        else:
            unchanged += 1
        if unchanged == rounds:
            return best
        near = [node ^ {f} for f in pool if 1 <= len(node ^ {f}) <= size]
        for other in near:
            if other not in visited:
                visited.add(other)
                waiting.append(other)
    return best


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("size", [2, 3])
def test_the_search_is_that_of_the_paper(size, rounds):
    rng = np.random.default_rng([size, rounds])
    pool = range(7)
    nodes = [frozenset(one) for n in range(1, size + 1) for one in combinations(pool, n)]
    same = 0
    for seed in range(30):
        # Values without ties, better for more features as in a training.
        values = dict(zip(nodes, rng.random(len(nodes)), strict=True))
        values = {node: value + 0.3 * len(node) for node, value in values.items()}
        search = Landscape(values, size, np.random.default_rng(seed), rounds)
        first = Landscape(values, size, np.random.default_rng(seed), rounds)._random(pool)
        found = search.subset(pool)
        assert set(found.features) == as_printed(values, first, pool, size, rounds)
        assert found.trained == len(search.trained)
        same += values[frozenset(found.features)] == max(values.values())
    assert same > 0


def test_the_first_node_is_any_subset_alike():
    search = Landscape({}, 2, np.random.default_rng(3))
    drawn = [search._random(range(4)) for _ in range(2000)]
    counts = {node: drawn.count(node) for node in set(drawn)}
    assert len(counts) == 4 + 6
    assert min(counts.values()) > 140


@pytest.mark.parametrize("k", [1, 3, 5])
def test_steps_of_a_weight_have_the_value_of_the_measure(k):
    """The kernel that sorts nothing, against the measure; with many equal scores."""
    train = made.pairs([3, 12, 1, 9, 5, 20], features=2, seed=k)
    grades, measure = Grades.of(train), measure_named(f"letor_ndcg_at_{k}")
    scores, column = np.round(train.values.T * 3)
    steps = np.array([0.0, 1.0, -1.0, 0.25, 7.0])
    values = np.empty(len(steps))
    discount = np.maximum(1.0, np.log2(np.arange(1, k + 1)))
    arrays = grades.start, grades.gain, grades.ideal, discount
    try_steps(scores, column, steps, *arrays, np.empty(k), np.empty(k, np.int64), values)
    for step, value in zip(steps, values, strict=True):
        order = grades.order_of(scores + step * column)
        assert value == pytest.approx(measure(grades, order).sum(), abs=1e-12)


def test_subsets_part_the_features_and_the_best_pair_comes_first():
    """Two features that only help together: their difference is the grade."""
    train = made.pairs([10] * 25, features=6, weights=[0, 2, 0, -2, 0, 0.3], noise=0.01, seed=5)
    subsets = partition(train, 2)
    assert subsets[0].features == (1, 3)
    assert subsets[0].weights[0] > 0 > subsets[0].weights[1]
    everything = [n for subset in subsets for n in subset.features]
    assert sorted(everything) == list(range(6))
    assert all(1 <= len(subset.features) <= 2 for subset in subsets)
    first = partition(train, 2, most=2)
    assert [one.features for one in first] == [one.features for one in subsets[:2]]
    # The value is that of the weights, on the training queries.
    made_of = train.values @ combination(subsets, 6)
    grades = Grades.of(train)
    for column, subset in enumerate(subsets):
        order = grades.order_of(made_of[:, column])
        assert measure_named(NDCG)(grades, order).mean() == pytest.approx(subset.value)


def test_the_best_features_alone_are_in_the_order_of_their_measure():
    train = made.pairs([10] * 25, features=5, weights=[0, 1, 0, 3, 0.2], noise=0.01, seed=6)
    subsets = best_alone(train, NDCG, 3)
    grades, measure = Grades.of(train), measure_named(NDCG)
    every = [measure(grades, grades.order_of(column)).mean() for column in train.values.T]
    assert [one.features[0] for one in subsets] == np.argsort(-np.array(every))[:3].tolist()
    assert [one.value for one in subsets] == pytest.approx(sorted(every, reverse=True)[:3])


@pytest.mark.parametrize("subsets", ["best_first", "alone"])
@pytest.mark.parametrize("validated", [True, False])
def test_a_ranker_learns_from_the_new_features_alone(subsets, validated, tmp_path):
    sides = [
        made.pairs([10] * 25, features=6, weights=[0, 2, 0, -2, 0, 0.3], noise=0.1, seed=seed)
        for seed in (1, 2)
    ]
    ranker = BestFirstSelection(inner="rankrls", subsets=subsets, size=2, most=3)
    fitted = ranker.fit(sides[0], sides[1] if validated else None)
    matrix = fitted.arrays["combination"]
    assert matrix.shape[1] == len(fitted.facts["selected"]) <= 3
    if not validated:
        assert matrix.shape[1] == 3
    # The weights of RankRLS are of the new features, and the order is that of their sum.
    made_of = sides[1].values @ matrix
    np.testing.assert_allclose(fitted.score(sides[1]), made_of @ fitted.arrays["ranker_weights"])
    fitted.save(tmp_path / "model")
    assert (load_reranker(tmp_path / "model").score(sides[1]) == fitted.score(sides[1])).all()
    again = BestFirstSelection(inner="rankrls", subsets=subsets, size=2, most=3)
    assert again.fit(*sides).facts["selected"][0] == fitted.facts["selected"][0]


def test_validation_chooses_the_best_of_several_sizes(tmp_path):
    """The grade is a sum of three features: the sizes differ, and the best one is taken."""
    sides = [
        made.pairs([10] * 25, features=6, weights=[1, 2, 0, -2, 0, 0.3], noise=0.1, seed=seed)
        for seed in (1, 2)
    ]
    one_by_one = [
        BestFirstSelection(inner="rankrls", size=size, most=2).fit(*sides) for size in (2, 3, 4)
    ]
    values = [fitted.facts["chosen_value"] for fitted in one_by_one]
    assert len(set(values)) > 1
    best = one_by_one[int(np.argmax(values))]
    ranker = reranker_named("best_first", {"inner": "rankrls", "size": [2, 3, 4], "most": 2}, "t")
    fitted = ranker.fit(*sides)
    assert fitted.facts["chosen_value"] == max(values)
    assert fitted.facts["size"] == best.ranker.size
    assert (fitted.score(sides[1]) == best.score(sides[1])).all()
    fitted.save(tmp_path / "model")
    assert load_reranker(tmp_path / "model").ranker == fitted.ranker
    with pytest.raises(BadInput, match="no validation queries"):
        ranker.fit(sides[0])


def test_the_last_searches_are_kept(monkeypatch):
    train = made.pairs([10] * 5, features=4, seed=1)
    searched = []

    def counted(pairs, size, **how):
        searched.append(how["seed"])
        return partition(pairs, size, **how)

    monkeypatch.setattr(best_first_selection, "partition", counted)
    monkeypatch.setattr(best_first_selection, "_MOST_SEARCHED", 2)
    best_first_selection._SEARCHED.clear()
    for seed in (1, 2, 1, 3, 1, 2):
        BestFirstSelection(inner="rankrls", size=2, most=1, seed=seed).fit(train)
    assert searched == [1, 2, 3, 2]
    assert len(best_first_selection._SEARCHED) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inner": "best_first"}, "expected another ranker"),
        ({"inner": "ranknets"}, "Did you mean 'ranknet'"),
        ({"settings": {"round": 1}}, "no key 'round'"),
        ({"subsets": "worst"}, "subsets"),
        ({"size": 1}, "size"),
        ({"size": [2, 11]}, "size"),
        ({"size": []}, "size"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        reranker_named("best_first", settings, "test")
