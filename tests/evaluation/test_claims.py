import numpy as np
import polars as pl
import pytest

from ssi_core.evaluation.claims import Claim, average_seeds, judge, twins
from ssi_core.evaluation.significance import (
    paired_beyond,
    paired_equivalence,
    paired_randomisation,
    paired_t,
)
from ssi_core.types import Report


def report(ap, loss, ids=None):
    ids = ids or [f"d{i:03}" for i in range(len(ap))]
    return Report(pl.DataFrame({"id": ids, "map": ap, "rank_loss": loss}), {}, {}, {})


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    ap = rng.random(100)
    noise = 0.02 * rng.standard_normal((4, 100))
    return {
        "good": [report(ap + 0.1 + noise[0], 0.1 + noise[0]) for _ in range(2)],
        "plain": [report(ap + noise[1], 0.2 + noise[1])],
        "same": [report(ap + noise[2], 0.2 + noise[2])],
    }


def test_the_better_row_holds_and_the_worse_is_reversed(rows):
    claims = [
        Claim("good", "plain", "map"),
        Claim("good", "plain", "rank_loss"),
        Claim("plain", "good", "map"),
        Claim("plain", "good", "rank_loss"),
        Claim("plain", "same", "map"),
    ]
    verdicts = judge(claims, rows)
    assert [v.verdict for v in verdicts] == [
        "holds",
        "holds",
        "reversed",
        "reversed",
        "not decided",
    ]
    assert [v.claim for v in verdicts] == claims
    of = {label: some[0].per_query for label, some in rows.items()}
    for verdict, name in zip(verdicts[:2], ("map", "rank_loss"), strict=True):
        assert verdict.difference == pytest.approx((of["good"][name] - of["plain"][name]).mean())
    assert verdicts[0].p_adjusted == pytest.approx(5 * verdicts[0].p)
    assert verdicts[0].n == 100
    assert str(claims[0]) == "good above plain in map"


@pytest.mark.parametrize(("test", "by"), [("randomisation", paired_randomisation), ("t", paired_t)])
def test_p_is_that_of_the_test_asked_for(rows, test, by):
    verdict = judge([Claim("plain", "same", "map")], rows, test=test)[0]
    a, b = (rows[label][0].per_query["map"].to_numpy() for label in ("plain", "same"))
    assert verdict.test == test
    assert verdict.p == by(a, b)
    assert verdict.p_t == paired_t(a, b)


def test_seeds_are_averaged_query_by_query_whatever_their_order():
    one = report([0.0, 1.0], [0.5, 0.5], ["a", "b"])
    two = report([0.0, 0.5], [0.1, 0.3], ["b", "a"])
    frame = average_seeds([one, two])
    assert frame["id"].to_list() == ["a", "b"]
    assert frame["map"].to_list() == [0.25, 0.5]
    assert frame["rank_loss"].to_list() == pytest.approx([0.4, 0.3])


def test_what_cannot_be_compared_is_refused(rows):
    rows["elsewhere"] = [report([0.1], [0.2], ["other"])]
    for claim, message in {
        Claim("good", "nobody", "map"): "'nobody' is not there; it has: good",
        Claim("good", "plain", "rank_loss_tuples"): "expected one of rank_loss, map",
        Claim("good", "elsewhere", "map"): "different queries",
    }.items():
        with pytest.raises(ValueError, match=message):
            judge([claim], rows)
    with pytest.raises(ValueError, match="of different queries"):
        average_seeds([*rows["good"], *rows["elsewhere"]])
    with pytest.raises(ValueError, match="none came"):
        average_seeds([])


@pytest.fixture
def with_twin(rows):
    # Three seeds of one report have a mean that is equal but for rounding.
    return {**rows, "twin": rows["plain"] * 3}


def test_rows_with_the_same_values_are_one_system_and_their_claims_one_test(with_twin):
    claims = [Claim("good", "plain", "map"), Claim("good", "twin", "map")]
    alone, *_ = judge([*claims[:1], Claim("plain", "same", "map")], with_twin)
    one, two, _ = judge([*claims, Claim("plain", "same", "map")], with_twin)
    assert alone.p_adjusted == one.p_adjusted == two.p_adjusted == 2 * alone.p
    assert one.systems == two.systems == ("good", "plain")


def test_a_claim_of_a_row_against_its_twin_is_counted_apart(with_twin):
    pair = [Claim("good", "plain", "map"), Claim("twin", "plain", "map")]
    judged, against_itself = judge(pair, with_twin)
    assert (against_itself.verdict, against_itself.p_adjusted) == ("same system", None)
    assert "same values on every query" in against_itself.reason
    assert judged.p_adjusted == judged.p


def test_twins_need_the_same_queries_and_all_measures(rows):
    frames = {label: average_seeds(own) for label, own in rows.items()}
    frames["loss"] = frames["plain"].with_columns(rank_loss=pl.lit(0.3))
    frames["elsewhere"] = frames["plain"].with_columns(id="x" + pl.col("id"))
    frames["again"] = frames["plain"]
    assert twins(frames) == {**{label: label for label in frames}, "again": "plain"}


def test_a_claim_that_is_not_like_with_like_has_a_reason_and_is_no_part_of_the_family(rows):
    claims = [Claim("good", "plain", "map"), Claim("good", "same", "map")]
    judged, apart = judge(claims, rows, unlike={("good", "same"): "other words"})
    assert (apart.verdict, apart.reason, apart.p_adjusted) == (
        "not like with like",
        "other words",
        None,
    )
    assert judged.p_adjusted == judged.p


def test_a_large_family_gets_the_rounds_that_it_needs(rows):
    pairs = [(f"good {n}", f"plain {m}") for n in range(12) for m in range(12)]
    noise = np.random.default_rng(5).standard_normal((2, 12)) * 0.001
    many = {
        f"{name} {n}": [report(own[0].per_query["map"].to_numpy() + noise[k, n], 0.1)]
        for k, (name, own) in enumerate((x, rows[x]) for x in ("good", "plain"))
        for n in range(12)
    }
    verdicts = judge([Claim(*pair, "map") for pair in pairs], many)
    # 10,000 rounds would give 144 tests an adjusted p of .0144 at best.
    assert {verdict.verdict for verdict in verdicts} == {"holds"}
    assert all(verdict.bound and verdict.p_adjusted < 0.01 for verdict in verdicts)


def test_no_claims_no_verdicts(rows):
    assert judge([], rows) == []


def test_a_claim_of_no_difference_is_judged_by_its_margin(rows):
    claims = [
        Claim("plain", "same", "map", margin=0.03),
        Claim("good", "plain", "map", margin=0.03),
        Claim("good", "plain", "map", margin=0.1),
        Claim("good", "plain", "map"),
    ]
    verdicts = judge(claims, rows)
    outcomes = ["holds", "reversed", "not decided", "holds"]
    assert [verdict.verdict for verdict in verdicts] == outcomes
    assert [verdict.test for verdict in verdicts] == ["tost", "tost", "tost", "randomisation"]
    values = {k: rows[k][0].per_query["map"].to_numpy() for k in rows}
    assert verdicts[0].p == paired_equivalence(values["plain"], values["same"], 0.03)
    assert verdicts[1].p == paired_beyond(values["good"], values["plain"], 0.03)
    # One family: none of the four is the same test.
    assert verdicts[1].p_adjusted == pytest.approx(min(4 * verdicts[1].p, 1), abs=1e-12)
    assert [verdict.p_t is None for verdict in verdicts] == [True, True, True, False]
    assert not verdicts[0].bound
    assert str(claims[0]) == "plain no different from same within 0.03 in map"


def test_a_margin_is_above_zero():
    for margin in (0.0, -0.1, float("nan")):
        with pytest.raises(ValueError, match="margin"):
            Claim("good", "plain", "map", margin=margin)
