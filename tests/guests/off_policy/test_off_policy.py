"""Estimates of a new ranker from a click log: against plain loops, by hand, against the truth."""

import itertools

import numpy as np
import polars as pl
import pytest

from ssi_core.guests.off_policy.bootstrap import LEAST_VISITS, bootstrap, estimate_clicks, lacking
from ssi_core.guests.off_policy.click_log import read_log
from ssi_core.guests.off_policy.off_policy import ESTIMATORS, OffPolicy, _experiments
from ssi_core.types import BadInput
from tests.guests.off_policy.off_policy_study import (
    CASES,
    NEW,
    THETA,
    Case,
    policy_of,
    ranking,
    study,
    truth_of,
    without_trials,
)

POSITIONS, LOOKS = 3, {1: 1.0, 2: 0.6, 3: 0.3}
PROPENSITIES = pl.DataFrame({"position": list(LOOKS), "propensity": list(LOOKS.values())})
ORDERS = list(itertools.permutations("abcd", POSITIONS))
SHARES = {"p": np.random.default_rng(5).dirichlet(np.ones(len(ORDERS))),
          "q": np.random.default_rng(6).dirichlet(np.ones(len(ORDERS)))}  # fmt: skip
"""The logging policy: a distribution over the orders of each page."""
TARGET = {"p": {"abc": 0.7, "cab": 0.3}, "q": {"dcb": 1.0}}
"""The new ranker: a distribution over orders, too."""


def sessions(n=60, seed=0):
    """Visits (session, page, order, clicks); some sessions see both pages."""
    rng = np.random.default_rng(seed)
    found = []
    for session in range(n):
        for page in rng.permutation(["p", "q"])[: rng.integers(1, 3)]:
            order = ORDERS[rng.choice(len(ORDERS), p=SHARES[page])]
            found.append((session, str(page), order, rng.random(POSITIONS) < 0.5))
    return found


def rows_of(visits):
    return pl.DataFrame(
        [
            (session, page, ad, position, bool(clicked))
            for session, page, order, clicks in visits
            for position, (ad, clicked) in enumerate(zip(order, clicks, strict=True), 1)
        ],
        schema=["session", "query", "document", "position", "clicked"],
        orient="row",
    )


def marginals(orders):
    """(page, ad, position) -> probability, of a distribution over orders."""
    found = {}
    for page, shares in orders.items():
        for order, share in shares.items():
            for position, ad in enumerate(order, 1):
                key = (page, ad, position)
                found[key] = found.get(key, 0) + share
    return found


def frame_of(found, value):
    keys = ["query", "document", "position"]
    return pl.DataFrame(
        [(*key, p) for key, p in found.items()], schema=[*keys, value], orient="row"
    )


KNOWN = marginals({page: dict(zip(ORDERS, shares, strict=True)) for page, shares in SHARES.items()})
NEW_SHARE = marginals(TARGET)


def frequencies(visits):
    found = {}
    for _, page, order, _ in visits:
        of_page = sum(other == page for _, other, *_ in visits)
        for position, ad in enumerate(order, 1):
            found[page, ad, position] = found.get((page, ad, position), 0) + 1 / of_page
    return found


def naive(visits, mu):
    """The equations of the docstring, visit by visit; all places are filled."""
    n = len(visits)
    each = [
        (page, ad, position, clicked)
        for _, page, order, clicks in visits
        for position, (ad, clicked) in enumerate(zip(order, clicks, strict=True), 1)
    ]

    def weight(page, ad, position):
        return NEW_SHARE.get((page, ad, position), 0) / mu[page, ad, position]

    def looked(policy, page, ad):
        return sum(policy.get((page, ad, k), 0) * theta for k, theta in LOOKS.items())

    ips = sum(weight(p, d, k) * c for p, d, k, c in each) / n
    snips = sum(
        sum(weight(p, d, k) * c for p, d, k, c in each if k == position)
        / sum(weight(p, d, k) for p, d, k, _ in each if k == position)
        for position in LOOKS
    )
    looks, clicks = {}, {}
    for page, ad, position, clicked in each:
        looks[page, ad] = looks.get((page, ad), 0) + LOOKS[position]
        clicks[page, ad] = clicks.get((page, ad), 0) + clicked
    mean = sum(clicks.values()) / sum(looks.values())
    relevance = {pair: (clicks[pair] + 1) / (looks[pair] + 1 / mean) for pair in looks}
    model = {(p, d, k): LOOKS[k] * relevance[p, d] for p, d in looks for k in LOOKS}
    direct = sum(
        share * model[key] for _, page, *_ in visits for key, share in NEW_SHARE.items()
        if key[0] == page
    )  # fmt: skip
    errors = sum(weight(p, d, k) * (c - model[p, d, k]) for p, d, k, c in each)
    pbm = sum(c * looked(NEW_SHARE, p, d) / looked(mu, p, d) for p, d, _, c in each) / n
    return {"ips": ips, "snips": snips, "dr": (direct + errors) / n, "pbm": pbm,
            "logged": sum(c for *_, c in each) / n}  # fmt: skip


def problem(visits, *, known=True, ranking=NEW_SHARE, propensities=PROPENSITIES):
    return OffPolicy(
        read_log(rows_of(visits)),
        frame_of(ranking, "share"),
        propensities,
        policy=frame_of(KNOWN, "probability") if known else None,
        known_propensities=True,
    )


@pytest.mark.parametrize("known", [True, False])
def test_estimators_are_their_equations(known):
    visits = sessions()
    joined = problem(visits, known=known)
    expected = naive(visits, KNOWN if known else frequencies(visits))
    assert joined.estimate(joined.log.count()) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("known", [True, False])
def test_a_resample_is_the_log_with_its_sessions_repeated(known):
    visits = sessions()
    joined = problem(visits, known=known)
    times = np.random.default_rng(2).integers(0, 4, joined.log.sessions)
    again = [visit for visit in visits for _ in range(times[visit[0]])]
    expected = naive(again, KNOWN if known else {**KNOWN, **frequencies(again)})
    assert joined.estimate(joined.log.count(times)) == pytest.approx(expected, rel=1e-12)


def test_by_hand():
    # Of four visits to one page three show ab and one ba; the new ranker always shows ba.
    clicks = [(1, 0), (1, 1), (0, 0), (1, 0)]
    visits = [(n, "p", order, c) for n, (order, c) in
              enumerate(zip(["ab", "ab", "ab", "ba"], clicks, strict=True))]  # fmt: skip
    new = {("p", "b", 1): 1.0, ("p", "a", 2): 1.0}
    joined = problem(visits, known=False, ranking=new)
    found = joined.estimate(joined.log.count())
    # b in place 1 was shown once and clicked; a in place 2 was shown once and was not.
    assert found["ips"] == found["snips"] == 1
    # a: 2 clicks in 3 + .6 looks; b: 2 clicks in 1 + 3 * .6 looks.
    assert found["pbm"] == pytest.approx(2 / 3.6 * 0.6 + 2 / 2.8)
    facts = joined.facts(joined.log.count())
    assert facts["ips"].visits == 1, "two showings count of eight, in slates of two"
    assert facts["ips"].never_shown == 0


def test_the_policy_of_the_log_has_the_clicks_of_the_log():
    visits = sessions()
    joined = problem(visits, known=False, ranking=frequencies(visits))
    found = joined.estimate(joined.log.count())
    assert list(found.values()) == pytest.approx([found["logged"]] * 5)
    facts = joined.facts(joined.log.count())
    assert [facts[name].visits for name in ESTIMATORS] == pytest.approx([len(visits)] * 4)
    assert [facts[name].mean_weight for name in ESTIMATORS] == pytest.approx([1] * 4)


def test_places_are_filled_as_often_as_in_the_log():
    # Half of the visits have one place only: a second ad is shown in half of them.
    visits = [(n, "p", "ab" if n % 2 else "a", (1, 1)[: 1 + n % 2]) for n in range(10)]
    joined = problem(visits, known=False, ranking={("p", "a", 1): 1.0, ("p", "b", 2): 1.0})
    found = joined.estimate(joined.log.count())
    assert list(found.values()) == pytest.approx([1.5] * 5)


def test_pairs_at_two_known_positions_say_how_positions_differ():
    pairs, positions = [0, 0, 1, 2, 2, 2, 3, 3], [1, 2, 1, 1, 2, 3, 1, None]
    cells = pl.DataFrame({"cell": range(8), "pair": pairs, "k": positions})
    rows, start = _experiments(cells)
    assert (rows.tolist(), start.tolist()) == ([0, 1, 3, 4, 5], [0, 2, 5])


def test_resamples_estimate_propensities_anew():
    visits = sessions(300)
    joined = OffPolicy(read_log(rows_of(visits)), frame_of(NEW_SHARE, "share"), PROPENSITIES)
    fixed = problem(visits, known=False)
    anew, held = (bootstrap(one, rounds=60)["pbm"] for one in (joined, fixed))
    assert anew.std() != held.std()
    assert bootstrap(joined, rounds=60)["pbm"].to_list() == anew.to_list(), "same seed, same draws"


# What a log cannot say


def test_a_log_that_always_shows_the_same_is_refused():
    joined = without_trials(CASES["policy estimated"])
    share = joined.facts(joined.log.count())["pbm"].never_shown
    assert share > 0.3
    with pytest.raises(
        BadInput, match=rf"and {share:.1%} nowhere on that page.*--candidates shown"
    ):
        estimate_clicks(joined, rounds=2)
    allowed = estimate_clicks(joined, rounds=2, most_unseen=share)
    assert allowed["ips"] is None
    one = allowed["pbm"]
    assert one.high - one.value == pytest.approx(one.value - one.low + share * NEW.shape[1])


def test_what_was_shown_elsewhere_is_enough_for_the_model_only():
    visits = [(n, "p", order, (1, 0)) for n, order in enumerate(["ab", "ac", "ba"] * 5)]
    joined = problem(visits, known=False, ranking={("p", "c", 1): 1.0, ("p", "a", 2): 1.0})
    found = estimate_clicks(joined, rounds=5, least_visits=0)
    assert [name for name, one in found.items() if one is None] == ["ips", "snips"]


def test_an_estimator_of_few_effective_visits_is_left_out():
    joined = problem(sessions(200))
    facts = joined.facts(joined.log.count())
    assert facts["ips"].visits < facts["pbm"].visits
    between = (facts["ips"].visits + facts["pbm"].visits) / 2
    found = estimate_clicks(joined, rounds=3, least_visits=between)
    assert [name for name, one in found.items() if one is None] == ["ips", "snips", "dr"]
    assert lacking(facts["pbm"], 0.0, between) is None
    assert lacking(facts["ips"], 0.0, between).endswith(f"fewer than {between:g}")
    assert lacking(facts["ips"], -1.0, between) == "0.0% of the places never shown"
    with pytest.raises(BadInput, match=rf"worth {facts['pbm'].visits:.1f} effective visits"):
        estimate_clicks(joined, rounds=3, least_visits=1e6)
    assert LEAST_VISITS == 10


def test_a_position_of_unknown_propensity_counts_for_weights_alone():
    unknown = PROPENSITIES.with_columns(
        propensity=pl.when(pl.col("position") < 3).then("propensity")
    )
    facts = (joined := problem(sessions(), propensities=unknown)).facts(joined.log.count())
    assert facts["ips"].never_shown == 0
    assert facts["pbm"].never_shown == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda p: p.filter(pl.col("document") != "a"),
            "have no probability; the first is document a at position",
        ),
        (lambda p: p.with_columns(pl.col("probability") * 1.5), r"add up to 1\.5.*, above 1"),
    ],
)
def test_a_policy_that_is_not_that_of_the_log_is_refused(change, said):
    with pytest.raises(BadInput, match=said):
        OffPolicy(
            read_log(rows_of(sessions())),
            frame_of(NEW_SHARE, "share"),
            PROPENSITIES,
            policy=change(frame_of(KNOWN, "probability")),
        )


# Truth and coverage


def test_all_orders_of_the_simulator_are_in_its_policy():
    policy = policy_of("truncated")
    sums = policy.group_by("query", "position").agg(pl.col("probability").sum())["probability"]
    assert sums.to_list() == pytest.approx([1] * len(sums))
    assert len(ranking()) == NEW.size
    assert THETA["propensity"][0] == 1


# The share of 100 intervals that each cover with probability .95 leaves these bounds once in 1,000.
_LEAST, _MOST = 0.87, 1.0


@pytest.mark.parametrize(
    "case",
    [Case("uniform", 600, "yes", "yes"), Case("uniform", 600, "no", "no")],
    ids=["known", "estimated"],
)
def test_intervals_cover_the_truth(case):
    for name, row in study(case, logs=100, rounds=40).items():
        assert row["refused"] == 0
        assert abs(row["estimate"] - row["truth"]) < 4 * row["sd"] / np.sqrt(100), name
        assert _LEAST <= row["coverage"] <= _MOST, name


def test_a_wrong_estimator_would_not_cover():
    # The truth under another way to look at pages is outside of nearly all intervals.
    case = Case("uniform", 600, "no", "no")
    other = truth_of(case._replace(log="cascade"))
    rows = study(case, logs=10, rounds=30)
    assert other < rows["pbm"]["low"]


@pytest.mark.slow
@pytest.mark.parametrize("label", ["all known, random order", "both estimated, 500 visits"])
def test_intervals_cover_the_truth_in_93_to_97_percent(label):
    for name, row in study(CASES[label], logs=1000, rounds=200).items():
        assert 0.93 <= row["coverage"] <= 0.97, name
