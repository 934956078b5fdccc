"""Clicks that depend on the documents above, and clicks that only seem to."""

from math import erfc, sqrt

import numpy as np
import polars as pl
import pytest

from benchmarks.off_policy import MODELS, clicks_of, study, truth_of, visits_of
from ssi_core.guests.off_policy.click_log import read_log
from ssi_core.guests.off_policy.documents_above import documents_above
from tests.guests.click_logs.policies import EXAMINATION, SHOWN
from tests.guests.off_policy.off_policy_study import read


def naive(rows):
    """The test, cell by cell: rows of session, query, document, position, clicked."""
    sessions = sorted({row[0] for row in rows})
    number = {session: position for position, session in enumerate(sessions)}
    attraction = {}
    for half in (0, 1):
        learnt = [row for row in rows if number[row[0]] % 2 != half]
        rate = {
            k: np.mean([row[4] for row in learnt if row[3] == k]) for k in {r[3] for r in learnt}
        }
        for query, document in {(row[1], row[2]) for row in rows}:
            own = [row for row in learnt if row[1:3] == (query, document)]
            clicks, expected = sum(row[4] for row in own), sum(rate[row[3]] for row in own)
            attraction[half, query, document] = (clicks + 1) / (expected + 1) - 1
    above = [
        sum(
            attraction[number[row[0]] % 2, other[1], other[2]]
            for other in rows
            if other[:2] == row[:2] and other[3] < row[3]
        )
        for row in rows
    ]
    total, of_session = 0.0, dict.fromkeys(sessions, 0.0)
    for cell in {(*row[1:4], number[row[0]] % 2) for row in rows}:
        places = [n for n, r in enumerate(rows) if (*r[1:4], number[r[0]] % 2) == cell]
        size = len(places)
        click = np.mean([rows[n][4] for n in places])
        mean = np.mean([above[n] for n in places])
        for n in places:
            product = (rows[n][4] - click) * (above[n] - mean)
            total += product
            if size > 1:
                of_session[rows[n][0]] += product * np.sqrt(size / (size - 1))
    return total / np.sqrt(sum(value**2 for value in of_session.values()))


def test_it_is_its_definition():
    rng, rows = np.random.default_rng(0), []
    for session in range(40):
        for query in ("p", "q")[: 1 + session % 2]:
            order = rng.permutation(["a", "b", "c", "d"])[: rng.integers(1, 5)]
            clicked = rng.random(len(order)) < 0.5
            shown = zip(order, clicked, strict=True)
            rows += [
                (session, query, str(ad), number, bool(click))
                for number, (ad, click) in enumerate(shown, 1)
            ]
    names = ["session", "query", "document", "position", "clicked"]
    log = read_log(pl.DataFrame(rows, schema=names, orient="row").sample(fraction=1, shuffle=True))
    above = documents_above(log)
    assert above.z == pytest.approx(naive(rows))
    assert above.p == pytest.approx(erfc(abs(above.z) / sqrt(2)), rel=1e-12)
    assert 0 < above.showings < len(rows)


def test_an_order_that_never_changes_says_nothing():
    log = read_log(
        pl.DataFrame(
            {
                "session": np.repeat(np.arange(74), 3),
                "query": ["p"] * 111 + ["q"] * 111,
                "document": ["a", "b", "c"] * 37 + ["c", "a", "b"] * 37,
                "position": [1, 2, 3] * 74,
                "clicked": np.random.default_rng(0).random(222) < 0.3,
            }
        )
    )
    above = documents_above(log)
    assert (above.z, above.p, above.showings) == (0, 1, 0)
    assert not above.dependent


@pytest.mark.parametrize("model", MODELS)
def test_a_cascade_alone_depends_on_the_documents_above(model):
    z = np.array([documents_above(read(visits_of(model, 3000, seed))).z for seed in range(12)])
    if model == "cascade":
        assert z.mean() < -2.5
        assert z.max() < 0
    else:
        # The mean of twelve standard normal values.
        assert abs(z.mean()) < 3 / np.sqrt(12)
        assert 0.5 < z.std() < 1.6


def test_clicks_above_are_no_such_sign():
    """Deep visitors click more everywhere: clicks go together, and ips is right all the same."""
    clicked = visits_of("mixed", 3000, 0).clicked
    together = np.corrcoef(clicked[:, 2:5].sum(axis=1), clicked[:, 5:].sum(axis=1))[0, 1]
    assert together > 0.1
    assert not documents_above(read(visits_of("mixed", 3000, 0))).dependent


def test_user_models_are_as_they_are_described():
    rng = np.random.default_rng(1)
    likes = rng.random((20_000, SHOWN)) < 0.3
    rates = {model: clicks_of(model, likes, rng).mean(axis=0) for model in MODELS}
    assert rates["position"] == pytest.approx(
        rates["position"][0] * np.array(EXAMINATION), abs=0.006
    )
    assert (rates["trust"][:2] > rates["position"][:2] + 0.05).all()
    assert rates["mixed"][2:] == pytest.approx(rates["mixed"][0] / 2, abs=0.005)
    assert clicks_of("cascade", likes, rng).sum(axis=1).max() == 1
    assert truth_of("cascade", 20_000) < truth_of("position", 20_000)


def test_estimates_cover_where_clicks_do_not_depend_on_what_is_above_and_not_in_a_cascade():
    rows = {model: study(model, logs=8, visits=2500, rounds=20) for model in MODELS}
    for model in ("position", "trust", "mixed"):
        assert rows[model]["ips"]["coverage"] >= 0.6, model
    assert rows["cascade"]["pbm"]["coverage"] <= 0.25
    assert rows["cascade"]["ips"]["mean"] > 1.2 * rows["cascade"]["truth"]
    # Trust in what stands above is taken for examination: clicks below count for more.
    assert rows["trust"]["weight_of_last"] > 1.5
    assert rows["position"]["weight_of_last"] == pytest.approx(1)
