import numpy as np
import polars as pl
import pytest

from benchmarks.gate import Population, _p_greater, population, promotions
from ssi_core.evaluation.significance import paired_t
from ssi_core.guests.monitoring.gate import Rule
from ssi_core.types import Report

N = 300


@pytest.fixture(scope="module")
def there():
    """Average precisions as real queries have them: many low, some high, noise where they are."""
    rng = np.random.default_rng(1)
    score = rng.beta(0.8, 2.4, N)
    noise = rng.normal(0, 0.3, N) * score
    return Population(score, noise - noise.mean(), {"short_query": np.arange(N) % 2 == 0})


def test_equal_models_are_promoted_in_few_months(there):
    # Without the guards, which only make it rarer; alpha is large, so that there is a rate to see.
    bare = Population(there.score, there.noise, {})
    rule = Rule(alpha=0.2)
    found = promotions(bare, rule, months=1000, retrainings=30)
    rate, error = found.any(axis=1).mean(), np.sqrt(0.2 * 0.8 / 1000)
    assert 0.02 < rate <= 0.2 + 2 * error
    assert (
        np.mean(promotions(there, rule, months=200, retrainings=30).any(axis=1)) <= rate + 3 * error
    )


def test_a_gain_is_found_the_more_often_the_larger_it_is(there):
    rates = [
        promotions(there, Rule(), months=100, retrainings=2, gain=gain)[:, 0].mean()
        for gain in (0.0, 0.05, 0.3)
    ]
    assert rates == sorted(rates)
    assert rates[-1] > 0.9


def test_it_simulates_the_test_of_the_gate():
    values = np.random.default_rng(0).normal(0.1, 1, (4, 50))
    expected = [paired_t(row, 0 * row, alternative="greater") for row in values]
    np.testing.assert_allclose(_p_greater(values), expected)


def test_a_population_from_two_reports():
    ids = pl.Series([f"{i}" for i in range(40)])
    values = np.random.default_rng(0).random((2, 40))
    slices = pl.DataFrame({"slice": "short_query", "id": ids[:30], "map": values[0, :30]})
    one, other = (Report(pl.DataFrame({"id": ids, "map": v}), {}, {}, {}, slices) for v in values)
    found = population(one, other, Rule())
    assert found.noise.mean() == pytest.approx(0)
    assert 2 * found.noise.var() == pytest.approx((values[0] - values[1]).var())
    assert found.guards["short_query"].sum() == 30
