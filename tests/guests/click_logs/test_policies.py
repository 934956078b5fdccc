"""The weights of pairs against the true relevance, whatever order the ads were shown in."""

from functools import cache

import polars as pl
import pytest

from ssi_core.guests.click_logs.rules import Rules
from tests.corpora import clicked_pairs
from tests.guests.click_logs import logs
from tests.guests.click_logs.policies import (
    FORM,
    POLICIES,
    as_table,
    log_of,
    ndcg_at_5,
    relevance_of,
)

TRUTH = relevance_of(10)
VISITS = 4000


@cache
def log(policy):
    return log_of(policy, TRUTH, VISITS)


def judged(tmp_path, policy, clicks):
    """NDCG@5 by the weights of pairs, and by these over the showings."""
    log(policy).write_csv(tmp_path / "log.csv")
    rules = Rules(clicks=clicks)
    made = logs.ingest([tmp_path / "log.csv"], FORM, tmp_path / clicks, rules=rules)
    pairs = clicked_pairs(made.path)
    over = pairs.with_columns(weight=pl.col("weight") / pl.col("shown"))
    return tuple(ndcg_at_5(TRUTH, as_table(TRUTH, each, "weight")) for each in (pairs, over))


@pytest.mark.parametrize("policy", POLICIES)
def test_weighted_pairs_are_in_the_order_of_relevance(tmp_path, policy):
    relevance, divided_twice = judged(tmp_path, policy, "weighted")
    inverse, divided_once = judged(tmp_path, policy, "inverse")
    assert relevance > 0.92
    assert divided_once > 0.9
    if policy == "uniform":
        return
    assert inverse < relevance - 0.05, "the sum of inverse weights alone is of what was shown"
    if policy != "worst first":  # its ads of few showings are the best ones
        assert divided_twice < relevance - 0.05
