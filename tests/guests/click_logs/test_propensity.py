"""Propensities from pairs that were shown at several positions."""

import numpy as np
import polars as pl
import pytest

from ssi_core.guests.click_logs.propensity import estimate_propensities
from ssi_core.types import BadInput

TRUE = np.array([1.0, 0.6, 0.35, 0.1])


def showings(counts, clicks):
    """Counts of shown and clicks, (pairs, positions), as a frame."""
    pair, position = np.nonzero(counts)
    return pl.DataFrame(
        {
            "query": [f"p{i // 5}" for i in pair],
            "document": [f"a{i}" for i in pair],
            "position": (position + 1).astype(np.int32),
            "shown": counts[pair, position].astype(np.int64),
            "clicks": clicks[pair, position].astype(np.int64),
        }
    )


def test_clicks_that_are_what_they_should_be_give_the_propensities_exactly():
    counts = np.array([[1000, 1000, 0, 0], [0, 2000, 1000, 0], [2000, 0, 0, 1000]])
    clicks = counts * TRUE * np.array([[0.5], [0.1], [0.9]])
    found = estimate_propensities(showings(counts, clicks))
    np.testing.assert_allclose(found["propensity"], TRUE, rtol=1e-6)
    assert found["position"].to_list() == [1, 2, 3, 4]
    assert found["pairs"].to_list() == [2, 2, 1, 1]
    assert found["shown"].to_list() == counts.sum(axis=0).tolist()


def test_a_showing_or_two_of_each_pair_is_enough_and_the_place_may_go_with_relevance():
    # A pair's usual position follows its relevance, so that click rates by position mislead.
    rng = np.random.default_rng(0)
    pairs = 60_000
    relevance = rng.beta(1, 2, pairs)
    lean = np.exp(4 * relevance[:, None] * -np.arange(4) / 3)
    counts = np.stack([rng.multinomial(2, p) for p in lean / lean.sum(axis=1, keepdims=True)])
    clicks = rng.binomial(counts, TRUE * relevance[:, None])
    found = estimate_propensities(showings(counts, clicks))
    np.testing.assert_allclose(found["propensity"], TRUE, rtol=0.045)
    rate = clicks.sum(axis=0) / counts.sum(axis=0)
    assert np.abs(rate / rate[0] / TRUE - 1).max() > 0.3


def test_a_position_that_nothing_leads_to_is_unknown():
    counts = np.array([[100, 100, 0, 0], [0, 0, 100, 100]])
    found = estimate_propensities(showings(counts, counts * 0.5))
    assert found["propensity"].to_list()[:2] == [1.0, 1.0]
    assert found["propensity"].null_count() == 2


@pytest.mark.parametrize(
    ("counts", "rate"),
    [([[100, 0], [0, 100]], 0.5), ([[100, 100]], 0.0), ([[0, 90]], 0.5), ([[0, 90, 90]], 0.5)],
)
def test_a_log_without_an_experiment_is_refused(counts, rate):
    counts = np.array(counts)
    with pytest.raises(BadInput, match=r"^log.csv: .*clicks='first'"):
        estimate_propensities(showings(counts, counts * rate), "log.csv")
