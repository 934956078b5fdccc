"""RankRLS and greedy RankRLS against training without each query, and against print."""

import numpy as np
import pytest

from ssi_core.guests.reranking.rankrls import (
    GreedyRankRls,
    RankRls,
    centred,
    greedy_path,
    leave_query_out,
)
from tests.guests.reranking import made

SIZES = [1, 5, 9, 3, 12, 2, 7]


def pairwise(features, weights, penalty, chosen):
    """Equation 3 of the paper, pair by pair."""
    total = penalty * float(weights @ weights)
    for _, rows in features.lists():
        x, y = features.values[rows][:, chosen], features.grade[rows]
        for i in range(len(y)):
            for j in range(len(y)):
                apart = y[i] - y[j] - weights @ (x[i] - x[j])
                total += float(apart**2) / (2 * len(y))
    return total


def without_each_query(features, penalty, chosen):
    """Residuals of each query under a ranker of all others, each solved from the beginning."""
    residuals = []
    for left in range(len(features.queries)):
        others = features.take([n for n in range(len(features.queries)) if n != left])
        x = centred(others.values[:, chosen], others.start)
        y = centred(others.grade.astype(float), others.start)
        w = np.linalg.solve(x.T @ x + penalty * np.eye(len(chosen)), x.T @ y)
        one = features.take([left])
        held_out = one.grade - one.values[:, chosen] @ w
        residuals.append(held_out - held_out.mean())
    return np.concatenate(residuals)


@pytest.mark.parametrize("penalty", [0.01, 1.0, 64.0])
def test_the_closed_form_is_the_minimum_of_the_pairwise_loss(penalty):
    features = made.pairs(SIZES)
    weights = RankRls(lambdas=(penalty,)).fit(features).arrays["weights"]
    chosen = list(range(4))
    least = pairwise(features, weights, penalty, chosen)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = weights + 1e-3 * rng.normal(size=4)
        assert pairwise(features, other, penalty, chosen) > least


@pytest.mark.parametrize("penalty", [0.5, 8.0])
def test_leave_query_out_is_training_without_the_query(penalty):
    features = made.pairs(SIZES)
    x = centred(features.values, features.start)
    y = centred(features.grade.astype(float), features.start)
    brute = without_each_query(features, penalty, list(range(4)))
    assert leave_query_out(x, y, features.start, penalty) == pytest.approx(brute, abs=1e-10)


@pytest.mark.parametrize("penalty", [0.5, 8.0])
def test_every_greedy_step_is_the_best_by_brute_force(penalty):
    features = made.pairs(SIZES, features=6, seed=2)
    chosen = []
    for step in greedy_path(features, penalty, 6):
        errors = {
            f: float(np.sum(without_each_query(features, penalty, [*chosen, f]) ** 2))
            for f in range(6)
            if f not in chosen
        }
        assert step.feature == min(errors, key=errors.get)
        chosen.append(step.feature)
        brute = without_each_query(features, penalty, chosen)
        assert step.residual == pytest.approx(brute, abs=1e-10)
        alone = RankRls(lambdas=(penalty,)).fit(features.columns([str(f + 1) for f in chosen]))
        assert step.weights[chosen] == pytest.approx(alone.arrays["weights"], abs=1e-10)
        assert np.count_nonzero(step.weights) == len(chosen)


def test_a_feature_that_is_the_same_for_a_query_does_not_stop_the_path():
    features = made.pairs(SIZES)
    values = np.column_stack([features.values, np.ones(len(features))])
    wide = features.with_values(values, ("1", "2", "3", "4", "same"))
    path = [step.feature for step in greedy_path(wide, 1.0, 9)]
    assert sorted(path) == [0, 1, 2, 3, 4]


def test_validation_chooses_penalty_and_number_of_features():
    # Two features count; the ten others are noise.
    weights = [3, 2, *[0] * 10]
    train = made.pairs([12] * 12, features=12, weights=weights, noise=1, seed=1)
    valid = made.pairs([12] * 30, features=12, weights=weights, noise=1, seed=2)
    fitted = GreedyRankRls(most=12).fit(train, valid)
    assert {"1", "2"} <= set(fitted.facts["selected"])
    assert fitted.facts["k"] == len(fitted.facts["selected"]) < 8
    assert fitted.facts["selected"][0] == "1"
    without = GreedyRankRls(most=3).fit(train)
    assert set(without.facts["selected"]) >= {"1", "2"}
