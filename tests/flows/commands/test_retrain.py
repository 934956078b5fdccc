import json

import pytest

from flows.cli import cli
from ssi_core.command.verb import run
from ssi_core.guests.click_logs.rules import Rules
from tests.corpora import write_mates
from tests.guests.click_logs import logs


def ssi(capsys, *said):
    code = run(cli, [*map(str, said), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_frozen_set_bars_its_links(tmp_path, corpus_dir, capsys, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    code, frozen = ssi(capsys, "ops", "freeze", corpus_dir, "--max-queries", 40)
    assert (code, frozen["counts"]["queries"]) == (0, 40)
    how = ("--frozen", frozen["path"], "--split-seed", 3, "--views", "raw")
    code, made = ssi(capsys, "data", "features", corpus_dir, "--out", tmp_path / "task", *how)
    assert code == 0
    assert made["skipped"]["frozen_links"] > 0
    # A path that holds none is told.
    assert ssi(capsys, "data", "features", corpus_dir, "--frozen", corpus_dir)[0] == 3


def test_clicks_and_mates_are_frozen(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    log = logs.write_csv(tmp_path / "log.csv", logs.rows(600))
    clicks = logs.ingest([log], logs.form(), tmp_path / "clicks", rules=Rules("all")).path
    mates = write_mates(tmp_path / "mates")
    for source, how, excluded in (
        (clicks, (), "frozen_pairs"),
        (mates, ("--relevant", "translation > link"), "frozen_queries"),
    ):
        code, frozen = ssi(capsys, "ops", "freeze", source, *how, "--max-queries", 8)
        assert (code, frozen["counts"]["queries"]) == (0, 8)
        other = (*how, "--frozen", frozen["path"], "--split-seed", 3, "--views", "raw")
        code, made = ssi(capsys, "data", "features", source, *other)
        assert code == 0
        assert made["skipped"][excluded] > 0
    assert ssi(capsys, "ops", "freeze", clicks, "--relevant", "link")[0] == 3


def test_a_night_from_the_command_line(tmp_path, corpus_dir, capsys, monkeypatch):
    from flows import retrain

    retraining = {"outcome": "refuse", "unchanged": True, "name": "ssi", "version": "4",
             "report": "## The challenger does not take over\n"}  # fmt: skip
    asked = []
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(retrain, "run_retrain", lambda **said: asked.append(said) or retraining)
    how = ("--start", "champion", "--frozen", "f", "--min-size", "0.5", "--threads", "2")
    how += ("--data-limit", "map=0.4", "--data-limit", "clicks=3", "--budget", "5000")
    assert ssi(capsys, "retrain", "my.toml", "--corpus", corpus_dir, *how) == (0, retraining)
    checked = retrain.RetrainSettings(**asked[0])
    assert (checked.start, checked.frozen, checked.size) == (
        "champion", [str(tmp_path / "f")], 0.5,
    )  # fmt: skip
    assert checked.budget == 5000
    limits = checked.all_limits()
    assert (limits.size, limits.map, limits.clicks, limits.words) == (0.5, 0.4, 3, 2)
    assert (checked.table, checked.corpus, checked.threads) == ("my.toml", str(corpus_dir), 2)

    assert run(cli, ["retrain", "--texts", "one.xml", "--texts", "two.xml"]) == 0
    shown = capsys.readouterr().out
    assert "does not take over" in shown
    assert "the champion of ssi is version 4" in shown
    assert retrain.RetrainSettings(**asked[1]).texts == [
        str(tmp_path / "one.xml"),
        str(tmp_path / "two.xml"),
    ]

    assert run(cli, ["retrain"]) == 2
    assert run(cli, ["retrain", "--corpus", "c", "--data-limit", "map"]) == 2
    assert run(cli, ["retrain", "--corpus", "c", "--data-limit", "size=2"]) == 2
    said = capsys.readouterr().err
    assert "Error: --data-limit size=2: size=2, expected from 0 to 1\n" in said
    assert run(cli, ["retrain", "--corpus", "c", "--texts", "d"]) == 2
    assert run(cli, ["retrain", "--corpus", "c", "--renew", "--renew-days", "0"]) == 0
    last = retrain.RetrainSettings(**asked[-1])
    assert (last.corpus, last.renew, last.renew_days) == (str(tmp_path / "c"), True, 0)
    with pytest.raises(ValueError, match="no limit 'colour'; there are clicks, empty"):
        retrain.RetrainSettings(limits={"colour": 1})
    with pytest.raises(ValueError, match="map=3"):
        retrain.RetrainSettings(limits={"map": 3})
    assert run(cli, ["retrain", "--texts", "one.xml", "--corpus", "c"]) == 2
