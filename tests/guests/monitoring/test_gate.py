import math

import numpy as np
import polars as pl
import pytest

from ssi_core.guests.monitoring.gate import Rule, best_so_far, decide
from ssi_core.types import Report

N = 401


def report(values, slices=None, measure="map"):
    ids = pl.Series([f"query {i}" for i in range(len(values))])
    frames = [
        pl.DataFrame({"slice": name, "id": ids.filter(pl.Series(own)), measure: values[own]})
        for name, own in (slices or {}).items()
    ]
    per_query = pl.DataFrame({"id": ids, measure: values})
    return Report(
        per_query, {measure: values.mean()}, {}, {}, pl.concat(frames) if frames else None
    )


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    return rng.beta(1, 3, N), rng.normal(0, 0.05, N)


def half(n=N):
    return np.arange(N) < n


def test_a_better_challenger_takes_over(scores):
    base, noise = scores
    found = decide(report(base + noise + 0.02, {"short_query": half()}),
                   report(base, {"short_query": half()}), 3)  # fmt: skip
    assert found.promote
    assert found.primary.gain == pytest.approx(0.02 + noise.mean())
    assert found.primary.level == pytest.approx(0.05 * 6 / math.pi**2 / 9)
    assert found.reason.startswith("all queries: better, map 0.2")
    assert [guard.what for guard in found.guards] == ["short_query"]


def test_the_first_is_the_champion(scores):
    assert decide(report(scores[0]), None, 1).promote


def test_equal_and_worse_ones_do_not(scores):
    base, noise = scores
    for challenger in (base, base + noise - noise.mean(), base - 0.1):
        found = decide(report(challenger), report(base), 1)
        assert not found.promote
        assert found.reason.startswith("all queries: not shown to be better")


def test_what_is_enough_on_the_first_night_is_not_on_the_thirtieth(scores):
    base, noise = scores
    # p is about 0.001.
    better = base + (noise - noise.mean()) + 3.1 * noise.std() / math.sqrt(N)
    assert decide(report(better), report(base), 1).promote
    assert not decide(report(better), report(base), 30).promote


def test_the_levels_of_all_nights_sum_to_alpha():
    rule = Rule(alpha=0.1)
    assert sum(rule.alpha_of(n) for n in range(1, 2000)) == pytest.approx(0.1, rel=1e-3)
    with pytest.raises(ValueError, match="retraining=0"):
        rule.alpha_of(0)


@pytest.mark.parametrize("name", ["new_document", "language_ja"])
def test_a_slice_that_gets_worse_stands_against_it(scores, name):
    base, noise = scores
    slices = {name: half(100), "rare": half(100)}
    change = np.where(half(100), -0.1, 0.1)
    found = decide(report(base + noise + change, slices), report(base, slices), 1)
    assert not found.promote
    assert found.primary.passed
    assert [guard.what for guard in found.guards] == [name]
    assert f"{name}: not shown to lose less than" in found.reason


def test_a_slice_with_few_queries_is_told_and_not_judged(scores):
    base, noise = scores
    slices = {"newest": half(29)}
    change = np.where(half(29), -0.1, 0.1)
    found = decide(report(base + noise + change, slices), report(base, slices), 1)
    assert found.promote
    assert [(g.queries, g.judged) for g in found.guards] == [(29, False)]


def test_a_slice_on_which_nothing_was_ever_found_is_no_obstacle(scores):
    base = np.where(half(50), 0, scores[0])
    slices = {"newest": half(50)}
    assert decide(report(base + 0.01 * ~half(50), slices), report(base, slices), 1).promote


def test_a_lower_rank_loss_is_better(scores):
    base, noise = scores
    rule = Rule(measure="rank_loss")
    lower = report(base + noise - 0.03, {"newest": half()}, "rank_loss")
    higher = report(base, {"newest": half()}, "rank_loss")
    assert decide(lower, higher, 1, rule).promote
    back = decide(higher, lower, 1, rule)
    assert not back.promote
    assert back.primary.gain < 0
    assert not back.guards[0].passed
    assert best_so_far({"1": higher, "2": lower, "3": higher}, "rank_loss") == "2"


def test_the_best_is_not_the_last(scores):
    base = scores[0]
    reports = {"1": report(base), "2": report(base + 0.1), "3": report(base - 0.1)}
    assert best_so_far(reports, "map") == "2"
    assert best_so_far({}, "map") is None


def test_reports_of_other_queries_are_refused(scores):
    with pytest.raises(ValueError, match="different queries"):
        decide(report(scores[0]), report(scores[0][:-1]), 1)


@pytest.mark.parametrize(
    "said", [{"measure": "mrr"}, {"alpha": 0}, {"margin": 1}, {"level": 2}, {"fewest": 1}]
)
def test_a_rule_that_is_none(said):
    with pytest.raises(ValueError, match=next(iter(said))):
        Rule(**said)


def test_a_decision_as_json(scores):
    said = decide(report(scores[0]), report(scores[0]), 2).to_dict()
    assert (said["promote"], said["retraining"], said["rule"]["alpha"]) == (False, 2, 0.05)
    assert said["primary"]["queries"] == N
