"""Divergences, clusters and profiles against naive twins written from the paper; AUC, sides."""

from datetime import UTC, datetime, timedelta
from math import log2
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from ssi_core.arrays import ArraySpec, csr_specs
from ssi_core.guests.profiles.compare import ROWS, _add_tests, _drawn, compare
from ssi_core.guests.profiles.divergence import (
    contributions,
    divergence,
    encode,
    seen,
    select,
    smoothed,
)
from ssi_core.guests.profiles.events import Events, _names
from ssi_core.guests.profiles.features import features
from ssi_core.guests.profiles.measures import auc
from ssi_core.guests.profiles.mixture import fit_mixture
from ssi_core.guests.profiles.model import ProfileModel
from ssi_core.guests.profiles.profiler import Profiler
from ssi_core.guests.profiles.sides import divide
from ssi_core.types import BadInput, Refused
from tests.seals import accepted
from tests.settings import hold

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def counts(users=40, tokens=12, seed=0):
    """Users of two tastes: the first or the second half of the tokens."""
    random = np.random.default_rng(seed)
    taste = random.integers(0, 2, users)
    rate = np.where((np.arange(tokens) < tokens // 2) == (taste[:, None] == 0), 3.0, 0.2)
    return sparse.csr_array(random.poisson(rate).astype(float)), taste


def naive_divergence(n, alpha, q):
    total = sum(n) + len(n) * alpha
    p = [(one + alpha) / total for one in n]
    return sum(a * log2(a / b) for a, b in zip(p, q, strict=True) if a > 0)


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
def test_a_divergence_is_that_of_the_paper(alpha):
    matrix, _ = counts()
    codes = smoothed(np.random.default_rng(1).poisson(2.0, (3, 12)).astype(float), 0.5)
    positions = np.arange(40) % 3
    assert codes.sum(axis=1) == pytest.approx(1)
    expected = [
        naive_divergence(row, alpha, codes[position])
        for row, position in zip(matrix.toarray().tolist(), positions, strict=True)
    ]
    np.testing.assert_allclose(divergence(matrix, alpha, codes, positions), expected, atol=1e-12)


def test_the_largest_contributions_are_kept():
    matrix, _ = counts()
    codes = smoothed(np.asarray(matrix.sum(axis=0)).ravel(), 0.1)[None, :]
    bits = contributions(seen(matrix, 0.01), codes, np.zeros(40, np.int64))
    kept = select(bits, 3).toarray()
    for ours, all_bits in zip(kept, bits.toarray(), strict=True):
        order = sorted(range(12), key=lambda z: (-all_bits[z], z))[:3]
        expected = {z: all_bits[z] for z in order if all_bits[z] > 0}
        assert {z: ours[z] for z in np.flatnonzero(ours)} == expected


def test_what_is_written_down_is_a_distribution_nearer_to_the_cluster():
    theta = smoothed(np.array([[9.0, 5, 1, 1, 1, 0, 0, 3]]), 0.1)
    base = smoothed(np.array([2.0, 2, 3, 3, 3, 2, 2, 2]), 0.1)
    costs = []
    for most in range(9):
        encoded, bits = encode(theta, base, most)
        assert encoded.sum() == pytest.approx(1)
        kept = np.flatnonzero(bits)
        assert len(kept) <= most
        np.testing.assert_allclose(encoded[0, kept], theta[0, kept])
        others = np.setdiff1d(np.arange(8), kept)
        share = encoded[0, others] / base[others]
        np.testing.assert_allclose(share, share[0])  # others in the proportions of the base
        costs.append(float((theta * np.log2(theta / encoded)).sum()))
    assert costs == sorted(costs, reverse=True)
    assert costs[1] < costs[0]


def test_clusters_find_the_tastes_and_the_objective_never_falls():
    matrix, taste = counts(120)
    mixture = fit_mixture(matrix, 2, seed=3)
    assert all(
        b >= a - 1e-9 for a, b in zip(mixture.objective, mixture.objective[1:], strict=False)
    )
    places = mixture.assign(matrix)
    assert max(np.mean(places == taste), np.mean(places != taste)) > 0.98
    joint = [
        [np.log(mixture.share[y]) + sum(n * np.log(mixture.theta[y])) for y in range(2)]
        for n in matrix.toarray()
    ]
    np.testing.assert_array_equal(places, np.argmax(joint, axis=1))
    for y in range(2):
        mine = matrix.toarray()[places == y].sum(axis=0)
        np.testing.assert_allclose(mixture.theta[y], (mine + 0.1) / (mine.sum() + 1.2))


def test_a_profile_is_against_all_users_and_against_the_written_cluster():
    matrix, _ = counts(60)
    fitted = Profiler(clusters=2, tokens=2).fit(matrix)
    profiles = fitted.profile(matrix)
    theta = seen(matrix, fitted.profiler.alpha_user).toarray()
    for user in range(60):
        for ours, q in (
            (profiles.bits_all, fitted.common),
            (profiles.bits_cluster, fitted.encoded[profiles.cluster[user]]),
        ):
            p = theta[user]
            bits = [a * log2(a / b) if a > 0 else 0.0 for a, b in zip(p, q, strict=True)]
            best = sorted(range(12), key=lambda z: (-bits[z], z))[:2]
            assert set(np.flatnonzero(ours.toarray()[user])) == {z for z in best if bits[z] > 0}
    assert (fitted.bits > 0).sum(axis=1).max() <= 2
    costs = fitted.describe(matrix)["bits"]
    assert costs["cluster"]["mean"] < costs["encoded cluster"]["mean"] < costs["all"]["mean"]


def test_features_are_the_parts():
    matrix, _ = counts()
    fitted = Profiler(clusters=2, tokens=3).fit(matrix)
    joined = features(fitted, matrix, ("raw", "cluster", "against_all", "actions")).toarray()
    raw = np.log1p(matrix.toarray())
    np.testing.assert_allclose(joined[:, :12], raw)
    np.testing.assert_allclose(np.linalg.norm(joined[:, 12:24], axis=1), 1)
    kept = fitted.profile(matrix).bits_all.toarray() > 0
    np.testing.assert_allclose(joined[:, 24:36], np.where(kept, raw, 0))
    np.testing.assert_allclose(joined[:, 36], np.log1p(matrix.toarray().sum(axis=1)))


def test_the_area_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    for _ in range(20):
        scores = random.integers(0, 6, 50).astype(float)
        relevant = random.random(50) < 0.3
        assert auc(scores, relevant) == pytest.approx(roc_auc_score(relevant, scores))
    with pytest.raises(ValueError, match="0 of 3"):
        auc(np.zeros(3), np.zeros(3, bool))


def log(users=400, seed=0):
    """Users of two tastes, each at six moments, one user after the other."""
    random = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        taste = int(random.integers(0, 2))
        for step in range(6):
            topic = taste if random.random() < 0.9 else 1 - taste
            document = f"{'ab'[topic]}{random.integers(0, 6)}"
            rows.append((f"u{user:04}", NOON + timedelta(hours=10 * user + step), document))
    clicks = pl.DataFrame(rows, schema=["user", "timestamp", "document"], orient="row")
    tokens = clicks.select("user", "timestamp", token=pl.lit("click-") + pl.col("document"))
    return Events("made", tokens, clicks, {"clicks": len(rows)})


def test_sides_follow_each_other_and_nothing_later_is_seen_before():
    events = log(100)
    divided = divide(events, least_users=1, least_clicks=1)
    sides = divided.train, divided.valid, divided.test
    assert [len(side) for side in sides] == [60, 20, 20]
    assert max(divided.train.users) < min(divided.valid.users) <= max(divided.valid.users)
    for side in sides:
        assert set(np.asarray(side.counts.sum(axis=1)).ravel()) == {3.0}  # half of six moments
        for user, row in zip(side.users, side.clicked, strict=True):
            later = events.clicks.filter(user=user).sort("timestamp")["document"][3:]
            clicked = {divided.targets[position] for position in np.flatnonzero(row)}
            assert clicked == set(later) & set(divided.targets)


def test_the_next_moment_alone_may_be_predicted():
    events = log(100)
    divided = divide(events, later="next", least_users=1, least_clicks=1)
    for user, row in zip(divided.test.users, divided.test.clicked, strict=True):
        following = events.clicks.filter(user=user).sort("timestamp")["document"][3]
        assert {divided.targets[position] for position in np.flatnonzero(row)} == {following}


def test_actions_after_the_next_side_begins_are_left_out():
    events = log(100)
    late = pl.DataFrame(
        [("u0000", NOON + timedelta(days=300), "a0")],
        schema=["user", "timestamp", "document"], orient="row",
    )  # fmt: skip
    clicks = pl.concat([events.clicks, late])
    tokens = clicks.select("user", "timestamp", token=pl.lit("click-") + pl.col("document"))
    divided = divide(Events("made", tokens, clicks, {}), least_users=1, least_clicks=1)
    assert divided.skipped["click_after_the_end_of_the_side"] == 1
    assert divided.train.counts.toarray().tolist() == (
        divide(events, least_users=1, least_clicks=1).train.counts.toarray().tolist()
    )
    with pytest.raises(BadInput, match="too few clicks"):
        divide(log(5))


@pytest.mark.parametrize("seed", [0, 1])
def test_tastes_are_learnt_from_earlier_clicks(seed):
    divided = divide(log(seed=seed))
    told = []
    result = compare(
        divided, Profiler(seed=seed), clusters=(2, 3), weights=(0.01, 1.0),
        progress=lambda share, what: told.append(share),
    )  # fmt: skip
    assert told == sorted(told)
    assert [row["label"] for row in result["rows"]] == list(ROWS)
    base, full, _, profile, number = result["rows"]
    for row in (base, full, profile):
        assert row["bands"]["10 or more"]["auc"] > 0.6
        chosen = max(row["validation"], key=lambda one: one["auc"])
        assert row["chosen"] == {"clusters": chosen["clusters"], "C": chosen["C"]}
    # all users have as many actions: nothing to learn from
    assert number["bands"]["10 or more"]["auc"] == 0.5
    test = full["bands"]["10 or more"]
    assert test["difference"] == pytest.approx(test["auc"] - base["bands"]["10 or more"]["auc"])
    assert test["p"] <= test["p_holm"] <= 1


def test_a_label_is_a_token_of_its_column_and_value(tmp_path):
    labels = {"id": ["a", "b"], "column": ["category", "tag"], "value": ["Art", "old"]}
    pl.DataFrame(labels).write_parquet(tmp_path / "part-0.parquet")
    parts = {"documents": [tmp_path / "part-0.parquet"], "queries": []}
    opened = SimpleNamespace(labels=parts.__getitem__)
    found = _names(opened, "documents", "labels").rows()
    assert found == [("a", "-category:Art"), ("b", "-tag:old")]
    assert _names(opened, "queries", "labels").is_empty()


def test_targets_are_drawn_once_each():
    side = divide(log()).test
    every = set(_drawn(side, 1000, 0))
    some = _drawn(side, len(every) - 1, 0)
    assert len(some) == len(set(some)) > 5
    assert set(some) < every


def test_targets_are_won_tied_or_lost():
    rows = [{"label": "base"}, {"label": "row", "bands": {"10 or more": {}}}]
    values = {"base": np.array([0.2, 0.5, 0.9, 0.1]), "row": np.array([0.3, 0.5, 1.0, 0.4])}
    _add_tests(rows, values, np.array([10, 20, 99, 9]))
    cell = rows[1]["bands"]["10 or more"]
    assert (cell["wins"], cell["ties"]) == pytest.approx((2 / 3, 1 / 3))
    assert cell["difference"] == pytest.approx(0.2 / 3)


def test_profiles_come_back_from_their_directory(tmp_path):
    model = ProfileModel.of(log(), Profiler(clusters=2, tokens=3))
    model.save(tmp_path / "profiles")
    loaded = ProfileModel.load(tmp_path / "profiles")
    user = loaded.user("u0007")
    assert user == model.user("u0007")
    assert 0 < len(user["against_all"]) <= 3
    assert [one["bits"] for one in user["against_all"]] == sorted(
        (one["bits"] for one in user["against_all"]), reverse=True
    )
    names = [{one["token"][6] for one in loaded.cluster(y)["tokens"]} for y in range(2)]
    assert sorted(map(tuple, names)) == [("a",), ("b",)]
    assert not list(tmp_path.rglob("*.pkl"))
    with pytest.raises(BadInput, match="no user"):
        loaded.user("nobody")
    with pytest.raises(BadInput, match="there are 0 to 1"):
        loaded.cluster(2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note").write_text("mine")
    with pytest.raises(Refused, match="left alone"):
        model.save(tmp_path / "mine")


@pytest.mark.hostile("resealed directories")
def test_arrays_that_are_not_those_of_profiles_are_refused(tmp_path):
    model, path = ProfileModel.of(log(), Profiler(clusters=2, tokens=3)), tmp_path / "profiles"
    model.save(path)
    users, tokens = len(model.users), len(model.tokens)
    specs = {
        "common": ArraySpec("float64", (tokens,), least=0, most=1),
        "theta": ArraySpec("float64", (2, tokens), least=0, most=1),
        "share": ArraySpec("float64", (2,), least=0, most=1),
        **csr_specs(users, tokens, ("indptr", "indices", "data"), "float64"),
    }
    files = {f"arrays/{name}": spec for name, spec in specs.items()}
    assert not accepted(path, "profiles.json", ProfileModel.load, files)


def test_more_clusters_than_users_are_refused():
    with pytest.raises(BadInput, match="Use fewer clusters"):
        Profiler(clusters=50).fit(counts(40)[0])


def test_settings_are_those_of_the_file():
    hold(__file__, {"profiler": Profiler})
