"""The gain that is expected of a training, by a prior and by differences on validation."""

import numpy as np
import pytest

from ssi_core.selection.expectation import LEAST, PRIORS, Prior, expected, prior, worth


def naive(before, differences, deviation=0.2, queries=20):
    """The posterior mean by a sum over a grid of gains, from the two densities."""
    gains = np.linspace(-1, 1, 200_001)
    d = np.asarray(differences)
    v = (queries * deviation**2 + ((d - d.mean()) ** 2).sum()) / (queries + len(d))
    log = -((gains - before.mean) ** 2) / (2 * before.spread**2)
    log -= len(d) * (gains - d.mean()) ** 2 / (2 * v)
    density = np.exp(log - log.max())
    return float(gains @ density / density.sum())


@pytest.mark.parametrize("q", [1, 6, 200])
def test_the_expected_gain_is_the_mean_of_the_posterior(q):
    differences = np.random.default_rng(q).normal(0.05, 0.3, q)
    for before in (Prior(0.02, 0.03), Prior(-0.05, 0.01)):
        assert expected(before, differences) == pytest.approx(naive(before, differences), abs=1e-6)


def test_equal_values_are_no_certainty():
    assert expected(Prior(-0.02, 0.02), np.array([0.01] * 3)) < 0


def test_worth_is_the_mean_over_what_the_queries_may_show():
    before, rng = Prior(-0.01, 0.03), np.random.default_rng(0)
    for q in (4, 400):
        truth = rng.normal(*before, 2_000_000)
        seen = rng.normal(truth, 0.2 / np.sqrt(q))
        weight = before.spread**2 / (before.spread**2 + 0.2**2 / q)
        believed = weight * seen + (1 - weight) * before.mean
        assert worth(before, q) == pytest.approx(np.maximum(0, believed).mean(), rel=0.005)


def test_a_tenfold_of_the_pairs_gains_what_the_line_says():
    for kind, line in PRIORS.items():
        assert prior(kind, 1000) == pytest.approx((line.at_thousand, line.spread))
        assert prior(kind, 10_000).mean == pytest.approx(line.at_thousand + line.per_tenfold)


def test_six_judged_queries_begin_no_training():
    assert worth(prior("queries", 37), 2) < LEAST < worth(prior("queries", 200), 20)
    assert worth(prior("documents", 60), 2) > LEAST
