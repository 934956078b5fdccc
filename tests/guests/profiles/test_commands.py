"""`ssi rank profiles` and `feeds`: comparisons with runs of MLflow, Python, refusals."""

import json

import pytest

import ssi_core
from flows import tracking
from flows.cli import cli
from flows.tracking.database import search
from ssi_core.command.verb import run
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.guests.feeds import compare as feeds_compare
from ssi_core.guests.feeds.writing import atom, rss
from ssi_core.guests.profiles import compare as profiles_compare
from tests.guests.click_logs import logs
from tests.guests.feeds import test_feeds

pytestmark = pytest.mark.usefixtures("own_root")


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """A log of 450 users, each of whom comes eight times."""
    path = tmp_path_factory.mktemp("clicks")
    rows = [row | {"who": f"u{position // 32:03}"} for position, row in enumerate(logs.rows(3600))]
    for row, one in enumerate(rows):
        day, hour = divmod(row // 4 // 60, 24)
        one["when"] = f"2024-01-{day + 1:02}T{hour:02}:{row // 4 % 60:02}:00Z"
    log = logs.write_csv(path / "log.csv", rows)
    form = logs.form(columns={**logs.COLUMNS, "user": "who"})
    return logs.ingest([log], form, path / "clicks", rules=Rules("all")).path


@pytest.fixture
def feeds(tmp_path):
    pytest.importorskip("feedparser", reason="the extra feeds is not installed")
    path = tmp_path / "my-feeds"
    path.mkdir()
    for number, feed in enumerate(test_feeds.made(60)):
        stamped = test_feeds.stamped(feed)
        (path / f"{number}.xml").write_bytes((atom if number % 2 else rss)(stamped))
    return path


def runs_of(experiment):
    known = tracking.client().get_experiment_by_name(experiment).experiment_id
    return {one.info.run_id: one for one in search(known, "")}


def test_profiles_are_compared_and_each_row_is_a_run(clicks, tmp_path, ssi, capsys, monkeypatch):
    saved = tmp_path / "result.json"
    code, result, _ = ssi(
        "rank",
        "profiles",
        "compare",
        clicks,
        "--tokens",
        "texts",
        "--set",
        "tokens=5",
        "--save",
        saved,
    )
    assert code == 0
    assert result["profiler"]["tokens"] == 5
    assert sum(result["users"].values()) > 300
    runs = runs_of("profiles")
    assert set(runs) == {row["run_id"] for row in result["rows"]}
    first = result["rows"][0]
    kept = runs[first["run_id"]].data
    assert kept.params["tokens"] == "5"
    assert kept.metrics["test/auc_10_or_more"] == first["bands"]["10 or more"]["auc"]
    assert "run_id" not in json.loads(saved.read_text())["rows"][0]
    monkeypatch.setattr(profiles_compare, "compare", lambda *given, **how: result)
    assert run(cli, ["rank", "profiles", "compare", str(clicks)]) == 0
    out = capsys.readouterr().out
    assert all(text in out for text in ("raw events, profile", "paper: with profile", "wins", "C "))


def test_profiles_are_fitted_and_shown(clicks, tmp_path, ssi, capsys):
    model = tmp_path / "profiles"
    code, fitted, _ = ssi("rank", "profiles", "fit", clicks, "--set", "clusters=4", "--out", model)
    assert code == 0
    bits = fitted["codes"]["bits"]
    assert bits["cluster"]["mean"] < bits["all"]["mean"]
    code, user, _ = ssi("rank", "profiles", "show", model, "--user", "u003")
    assert code == 0
    profiles = ssi_core.Profiles(clusters=4).fit(clicks)
    assert profiles.user("u003") == user == ssi_core.Profiles.load(model).user("u003")
    profiles.save(tmp_path / "again")
    assert ssi("rank", "profiles", "show", tmp_path / "again", "--cluster", 1)[
        1
    ] == profiles.cluster(1)
    assert run(cli, ["rank", "profiles", "show", str(model), "--user", "u003"]) == 0
    assert run(cli, ["rank", "profiles", "show", str(model), "--cluster", "1"]) == 0
    out = capsys.readouterr().out
    assert "against cluster" in out
    assert "% of the users" in out
    with pytest.raises(ssi_core.BadInput, match="not fitted"):
        ssi_core.Profiles().user("u003")


def test_feeds_are_compared_and_each_set_is_a_run(feeds, tmp_path, ssi, capsys, monkeypatch):
    saved = tmp_path / "result.json"
    code, result, _ = ssi("rank", "feeds", "compare", feeds, "--entries", "1,4", "--save", saved)
    assert code == 0
    assert (result["feeds"], result["topics"]) == (60, 12)
    runs = runs_of("feeds")
    assert len(runs) == 15
    best = next(row for row in result["rows"] if row["elements"] == "FT+ET" and row.get("best"))
    assert runs[best["run_id"]].data.metrics["test/f"] == best["f"]
    assert json.loads(saved.read_text())["rows"][0]["f"] == result["rows"][0]["f"]
    monkeypatch.setattr(feeds_compare, "compare", lambda *given, **how: result)
    assert run(cli, ["rank", "feeds", "compare", str(feeds), "--entries", "2"]) == 0
    out = capsys.readouterr().out
    assert all(text in out for text in ("FT+FD+ET+ED", "chosen", "paper P", "60 feeds"))
    assert len(ssi_core.read_feeds(feeds)) == 60
    code, made, _ = ssi("data", "ingest", "feeds", feeds, "--out", tmp_path / "entries")
    assert code == 0
    assert made["counts"]["documents"] == 240


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("rank", "profiles", "compare", "."), 3, "holds no collection"),
        (("rank", "profiles", "fit", "clicks", "--set", "k=3", "--out", "m"), 3, "no key 'k'"),
        (
            ("rank", "profiles", "fit", "clicks", "--tokens", "labels", "--out", "m"),
            3,
            "have no labels",
        ),
        (
            ("rank", "profiles", "fit", "clicks", "--tokens", "tags", "--out", "m"),
            3,
            "expected some of",
        ),
        (("rank", "profiles", "show", "."), 2, "one of them"),
        (("rank", "profiles", "show", ".", "--user", "u1"), 3, "holds no profiles"),
        (
            ("rank", "feeds", "compare", ".", "--entries", "0"),
            2,
            "0 is not in the range 1<=x<=1000",
        ),
        (("rank", "feeds", "compare", "none"), 3, "there is no such folder"),
        (("rank", "feeds", "write", "clicks", "out", "--topics", "none.tsv"), 3, "Check the file"),
    ],
)
def test_what_is_wrong_is_named(clicks, monkeypatch, ssi, arguments, code, message):
    monkeypatch.chdir(clicks.parent)
    returned, outcome, _ = ssi(*arguments)
    assert returned == code
    assert message in outcome["error"]["message"]
