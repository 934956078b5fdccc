"""From a click log to ads for a page, on the command line."""

from pathlib import Path
from typing import get_args

import pytest

from flows import tracking
from flows.cli import cli
from flows.ingest import ClicksSettings, ingest_clicks
from flows.reporting.shipped_tables import find_table
from ssi_core.command.ingest import ingest as verbs
from ssi_core.command.verb import run
from ssi_core.experiment import parse_table
from ssi_core.guests.click_logs.rules import Clicks
from ssi_core.sample.encyclopedia import write_sample
from ssi_core.store import read
from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput
from tests.datasets.test_farm_ads import LINES, written
from tests.datasets.test_wikispeedia_clicks import players_of
from tests.guests.click_logs import logs

pytestmark = pytest.mark.usefixtures("models_of_little_code")

TABLE = """
name = "of-clicks"
title = "Clicks"
measures = ["rank_loss", "slate_rank_loss", "slate_ndcg_at_10"]

[tasks.sessions]
relevant = "click"
split = "users"

[[rows]]
label = "U'V + I"
model = "bilinear"
dimensions = 8
rates = [0.1]
margin = 0.3
epoch = 2000
budget = 4000

[[rows]]
label = "against the slate"
model = "bilinear"
against = "shown"
dimensions = 8
rates = [0.1]
margin = 0.3
epoch = 2000
budget = 4000
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("clicks")
    write_sample(directory / "sample", documents=60, seed=1)
    (directory / "table.toml").write_text(TABLE)
    return directory


@pytest.fixture
def ssi(ssi, place, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(place / "root"))
    return ssi


def test_flow_and_verb_know_the_rules_of_the_ingestion():
    known = get_args(Clicks)
    rules = get_args(ClicksSettings.model_fields["clicks"].annotation)
    assert sorted(rules) == sorted(known)
    verb = verbs.get_command(None, "clicks")
    (option,) = (one for one in verb.params if one.name == "clicks")
    assert tuple(option.type.choices) == known
    assert all(f"\n  {name}  " in verb.help for name in known), "the help says what each suits"


@pytest.mark.trains
def test_a_row_against_random_ads_is_refused_inverse_weights(ssi, place, tmp_path):
    log = logs.write_csv(tmp_path / "log.csv", logs.rows(200))
    names = tmp_path / "map.toml"
    columns = "".join(f'{role} = "{column}"\n' for role, column in logs.COLUMNS.items())
    names.write_text(f"[columns]\n{columns}")
    clicks = ("--map", names, "--clicks", "inverse", "--out", tmp_path / "clicks")
    assert ssi("data", "ingest", "clicks", log, *clicks)[0] == 0
    task = ("--split", "users", "--out", tmp_path / "task")
    assert ssi("data", "features", tmp_path / "clicks", *task)[0] == 0
    train = ("lab", "train", place / "table.toml", "--task", tmp_path / "task", "--row")
    code, _, said = ssi(*train, "U'V + I")
    assert (code, "teach what was shown most" in said) == (3, True)
    code, _, said = ssi(*train, "against the slate")
    assert code == 0, said


@pytest.mark.trains
def test_a_log_becomes_a_model_that_matches_ads(ssi, place, monkeypatch, tmp_path, capsys):
    sample = place / "sample"
    (dump,) = sample.glob("enwiki-*.xml.bz2")
    assert (
        ssi("data", "ingest", "wikipedia", dump, "--out", place / "corpus", "--processes", "1")[0]
        == 0
    )
    log = (
        "data",
        "ingest",
        "clicks",
        sample / "clicks.tsv.gz",
        "--map",
        sample / "clicks-map.toml",
    )
    how = (
        "--queries",
        place / "corpus",
        "--documents",
        sample / "ads.tsv.gz",
        "--clicks",
        "weighted",
    )
    whole = (sample / "clicks-map.toml").read_text()
    (sample / "clicks-map.toml").write_text(whole.partition("[documents]")[0])
    code, found, said = ssi(*log, *how, "--out", place / "clicks")
    assert code == 3, "the table calls its ids ad"
    assert "ads.tsv.gz: which column is the id? Its columns are: ad, text." in said, said
    (sample / "clicks-map.toml").write_text(whole)
    code, found, said = ssi(*log, *how, "--out", place / "clicks")
    assert code == 0, said
    assert found["counts"]["propensities"]["1"] == 1
    assert found["counts"]["documents"] > 0

    code, found, said = ssi("data", "features", place / "clicks", "--split", "users", "--out",
                            place / "task")  # fmt: skip
    assert code == 0, said
    assert len(open_task(place / "task").test.shown) == found["counts"]["slates"]["test"]
    for row in ("U'V + I", "against the slate"):
        code, trained, said = ssi("lab", "train", place / "table.toml", "--task",
                                  place / "task", "--row", row)  # fmt: skip
        assert code == 0, said
        assert 0 < trained["metrics"]["test/slate_rank_loss"] < 0.6

    page = tmp_path / "page.txt"
    page.write_text("A bicycle with a new saddle and wheels, and a car with an engine.")
    code, found, said = ssi("rank", "match", trained["run_id"], page, "-k", "3")
    assert code == 0, said
    assert len(found["results"]) == 3
    assert run(cli, ["rank", "match", trained["run_id"], str(page), "-k", "3"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["id", "ad", "score"]
    ids = [hit["id"] for hit in found["results"]]
    assert [line.split()[0] for line in printed[-3:]] == ids
    new = tmp_path / "new.tsv"
    new.write_text(f"id\ttext\nnew\t{found['results'][0]['title']} {page.read_text()}\n")
    code, again, said = ssi(
        "rank", "match", trained["run_id"], page, "--new-ads", new, "-k", "1000"
    )
    assert code == 0, said
    assert "new" in [hit["id"] for hit in again["results"]]
    code, _, said = ssi(
        "rank", "match", trained["run_id"], "No such page", "--pages", place / "clicks"
    )
    assert (code, "no page has the title" in said) == (3, True)


@pytest.mark.trains
def test_a_model_is_estimated_from_a_log(ssi, place, tmp_path, capsys):
    names = tmp_path / "map.toml"
    columns = "".join(f'{role} = "{column}"\n' for role, column in logs.COLUMNS.items())
    names.write_text(f"[columns]\n{columns}")
    for day, rule in (("monday", "weighted"), ("tuesday", "weighted"), ("wednesday", "all")):
        log = logs.write_csv(tmp_path / f"{day}.csv", logs.rows(1400, seed=len(day)))
        how = ("--map", names, "--clicks", rule, "--out", tmp_path / day)
        assert ssi("data", "ingest", "clicks", log, *how)[0] == 0
    task = tmp_path / "task"
    two = ("--vocabularies", "two", "--out", task)
    assert ssi("data", "features", tmp_path / "monday", *two)[0] == 0
    (tmp_path / "table.toml").write_text(TABLE.replace("rates", 'diagonal = "none"\nrates'))
    train = ("lab", "train", tmp_path / "table.toml", "--task", task, "--row", "against the slate")
    code, trained, said = ssi(*train)
    assert code == 0, said

    call = ["lab", "estimate", trained["run_id"], "--log", tmp_path / "tuesday", "--rounds", "40"]
    code, found, said = ssi(*call, "--candidates", "shown")
    assert code == 0, said
    estimates = found["estimates"]
    assert found["sessions"] == 1400
    # Slates are in random order, so that any other order that knows the pages has more clicks.
    for name in ("ips", "snips", "dr", "pbm"):
        one = estimates[name]
        assert 0 < one["gain_low"] < one["gain"] < one["gain_high"]
        assert one["low"] < one["value"] < one["high"]
    assert run(cli, [*map(str, call), "--candidates", "shown"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split()[0] == "estimator"
    shown = {line.split()[0]: line.split()[1] for line in printed[:7] if line[:1].isalpha()}
    values = {name: f"{one['value']:.4f}" for name, one in estimates.items()}
    assert shown.items() >= values.items()
    above = found["documents_above"]
    assert abs(above["z"]) < 3
    assert f"documents above (z = {above['z']:.1f}," in " ".join(printed)
    assert found["left_out"] == {}
    code, few, _ = ssi(*call, "--candidates", "shown", "--least-visits", "1e6")
    assert code == 3
    assert "or allow for fewer (--least-visits)" in few["error"]["message"]
    most = estimates["pbm"]["visits"] - 1
    code, few, _ = ssi(*call, "--candidates", "shown", "--least-visits", most)
    assert (code, few["estimates"]["ips"]) == (0, None)
    assert f"effective visits, fewer than {most:g}" in few["left_out"]["ips"]
    assert few["estimates"]["pbm"] == estimates["pbm"]

    run_of = tracking.client().get_run(found["run_id"])
    parameters = {"model": trained["run_id"], "collection": str(tmp_path / "tuesday")}
    assert parameters.items() <= run_of.data.params.items()
    assert "policy" not in run_of.data.params
    assert run_of.data.tags["kind"] == "estimate"
    for name, one in estimates.items():
        assert run_of.data.metrics[f"{name}/gain_low"] == one["gain_low"]

    # What it has learnt from, and the same log read otherwise.
    assert "has learnt from" not in said
    first = (
        "data",
        "ingest",
        "clicks",
        tmp_path / "monday.csv",
        "--map",
        names,
        "--clicks",
        "first",
    )
    code, read, _ = ssi(*first)
    ssi("data", "features", read["path"], "--vocabularies", "two", "--out", tmp_path / "of-first")
    code, other, _ = ssi(*train[:4], tmp_path / "of-first", *train[5:])
    for run_id, source in ((trained["run_id"], "these clicks"), (other["run_id"], "monday.csv")):
        own = ("lab", "estimate", run_id, "--log", tmp_path / "monday", "--rounds", "2")
        code, _, said = ssi(*own, "--candidates", "shown")
        assert (code, f"has learnt from {source}" in said) == (0, True)

    code, _, said = ssi(*call)
    assert (code, "no weight makes up for what a log never tried" in said) == (3, True)
    code, _, said = ssi(*call[:4], tmp_path / "wednesday")
    assert (code, "--clicks weighted" in said) == (3, True)
    (tmp_path / "policy.csv").write_text("query,document,position,probability\np0,a0,1,1\n")
    code, _, said = ssi(*call, "--candidates", "shown", "--policy", tmp_path / "policy.csv")
    assert (code, "policy.csv: policy:" in said) == (3, True)


@pytest.mark.flow
def test_lines_that_were_read_are_not_read_again(ssi, flow_runs, tmp_path):
    rows = logs.rows(60)
    days = [logs.write_csv(tmp_path / f"{day}.csv", rows[120 * day : 120 * day + 120])
            for day in range(2)]  # fmt: skip
    columns = "".join(f'{role} = "{column}"\n' for role, column in logs.COLUMNS.items())
    names = tmp_path / "map.toml"
    names.write_text(f"[columns]\n{columns}")
    how = ("--map", names, "--clicks", "all")
    _, full, _ = ssi("data", "ingest", "clicks", *days, *how, "--out", tmp_path / "full")
    ssi("data", "ingest", "clicks", days[0], *how, "--out", tmp_path / "first")
    days[0].unlink()
    since = ("--since", tmp_path / "first")
    code, found, _ = ssi("data", "ingest", "clicks", days[1], *how, *since)
    assert code == 0
    assert found["counts"].pop("since") == {"rows_taken": 120, "rows_read": 120}
    assert {**found, "path": full["path"]} == full
    settings = ClicksSettings(paths=[str(days[1])], map=str(names), clicks="all",
                              since=str(tmp_path / "first"))  # fmt: skip
    assert read(Path(ingest_clicks(settings))).key == full["key"]


def test_settings_that_do_not_go_together_are_refused(ssi, place, tmp_path):
    written(tmp_path / "in", LINES)
    assert ssi("data", "ingest", "farm-ads", tmp_path / "in", "--out", tmp_path / "ads")[0] == 0
    code, _, said = ssi("data", "features", tmp_path / "ads", "--cold", "0.1")
    assert (code, "cold=0.1: expected relevant='link'" in said) == (3, True)
    code, _, said = ssi(
        "data", "features", tmp_path / "ads", "--relevant", "link", "--queries-from", "goals"
    )
    assert (code, "expected 'documents' or 'words:N'" in said) == (3, True)
    code, _, said = ssi("data", "features", tmp_path / "ads", "--relevant", "link")
    assert (code, "by 'link'; it has 'click'" in said) == (3, True)


def test_a_pool_below_zero_is_refused_by_the_table():
    with pytest.raises(BadInput, match="pool=-1"):
        parse_table(
            {
                "name": "n",
                "title": "t",
                "tasks": {"a": {"pool": -1}},
                "rows": [{"label": "x", "model": "tfidf"}],
            }
        )


@pytest.mark.parametrize("name", ["ssi2010-table11", "wikispeedia-clicks", "farm-ads"])
def test_the_tables_of_clicks_have_what_is_printed(name):
    table = find_table(name)
    assert table.row("Hash kernels 10M").paper.rank_loss == 0.2556
    assert table.row("(U'V)_10k + I").ranker().dimensions == 50
    assert len(table.claims) == 6


@pytest.mark.flow
def test_the_flow_reads_a_log_once(flow_runs, tmp_path):
    rows = logs.rows(100)
    log = logs.write_csv(tmp_path / "log.csv", rows)
    columns = tmp_path / "map.toml"
    columns.write_text(
        "[columns]\n" + "".join(f'{role} = "{name}"\n' for role, name in logs.COLUMNS.items())
    )
    settings = {"paths": [str(log)], "map": str(columns), "clicks": "all"}
    made = ingest_clicks(ClicksSettings(**settings))
    assert read(Path(made), "collection").counts["rows"] == len(rows)
    assert ingest_clicks(ClicksSettings(**settings)) == made
    with pytest.raises(BadInput, match="which column is the query"):
        ingest_clicks(ClicksSettings(paths=[str(log)]))


@pytest.mark.flow
def test_the_flow_reads_data_sets(flow_runs, tmp_path):
    written(tmp_path / "in", LINES)
    made = ingest_clicks(ClicksSettings(source="farm-ads", paths=[str(tmp_path / "in")]))
    assert read(Path(made), "collection").counts["pairs"] == 3
    games = players_of(tmp_path / "games")
    made = ingest_clicks(ClicksSettings(source="wikispeedia-clicks", paths=[str(games)]))
    assert read(Path(made), "collection").counts["clicks"] > 0
