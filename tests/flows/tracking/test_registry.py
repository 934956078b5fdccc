"""The alias of the champion: its moves, its history, and what a kill leaves of them."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest
from mlflow import MlflowClient

from flows import tracking
from flows.cli import cli
from flows.tracking import registry
from ssi_core.command.verb import run as command
from ssi_core.experiment import parse_table
from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput
from tests.flows import comparisons

STEPS = ("log_text", "create_registered_model", "create_model_version",
         "set_model_version_tag", "set_registered_model_alias")  # fmt: skip
KILLS = [*((step, False) for step in STEPS),
         ("create_registered_model", True), ("set_registered_model_alias", True)]  # fmt: skip
"""A step, and whether it was done: one that was leaves the same as the next one that was not."""


class Killed(BaseException):
    """Stands for the end of the process: nothing in the project catches it."""


@pytest.fixture
def name(request):
    """A registered model of one test's own."""
    return request.node.name.split("[")[0] + str(abs(hash(request.node.name)) % 10**6)


@pytest.fixture(scope="module")
def runs(mlflow_store, task_dir, tmp_path_factory, models_of_little_code):
    """Three runs with a logged model each."""
    table = dataclasses.replace(parse_table(comparisons.TABLE), name="registry")
    row = table.row("TF-IDF")
    fitted = row.ranker().fit(open_task(task_dir), np.random.default_rng(0))
    directory = tmp_path_factory.mktemp("model")
    fitted.save(directory)
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(mlflow_store))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        for seed in range(3):
            with tracking.row_run(table, row, seed, "c", task_dir) as run:
                run.finish_model(fitted.facts, fitted.languages, directory)
                run.report(comparisons.report(0.0))
            made.append(run.run_id)
    return made


pytestmark = pytest.mark.usefixtures("mlflow_root", "runs")


def moves(name):
    return [(c.version, c.before, c.how, c.done) for c in registry.history(name)]


def test_promotions_and_their_history(name, runs):
    assert registry.champion(name) is None
    assert registry.history(name) == []
    for run in runs:
        registry.promote(run, f"run {run}", name, tags={"retraining": "1"})
    assert registry.champion(name) == "3"
    assert moves(name) == [
        ("1", None, "promotion", True),
        ("2", "1", "promotion", True),
        ("3", "2", "promotion", True),
    ]
    assert [change.why for change in registry.history(name)] == [f"run {run}" for run in runs]
    assert registry.champions(registry.history(name)) == ["1", "2", "3"]
    assert registry.run_of("2", name) == runs[1]
    version = tracking.client().get_model_version(name, "2")
    task = tracking.client().get_run(runs[1]).data.tags["task"]
    assert (version.tags["task"], version.tags["split_seed"], version.tags["retraining"]) == (
        task, "0", "1",
    )  # fmt: skip
    assert tracking.model_directory(f"models:/{name}@champion").is_dir()
    # The same again changes nothing.
    again = registry.promote(runs[2], "once more", name)
    assert again == registry.history(name)[-1]
    assert len(moves(name)) == 3


def test_a_model_has_a_description_and_a_version_has_a_card(name, runs):
    registry.promote(runs[0], "because it is better", name)
    found = tracking.client().get_registered_model(name).description
    assert f"models:/{name}@champion" in found
    said = tracking.client().get_model_version(name, "1").description
    assert said.startswith("# TF-IDF\n\nbecause it is better")
    tags = tracking.client().get_run(runs[0]).data.tags
    for fact in (tags["task"], tags["corpus"], "| split_seed | 0 |", f"| run | {runs[0]} |"):
        assert fact in said
    assert "| map | 0." in said


def test_rollback_goes_back_and_bars_what_it_left(name, runs):
    for run in runs:
        registry.promote(run, "better", name)
    assert registry.rollback("it is bad", name).version == "2"
    assert registry.champions(registry.history(name)) == ["1", "2"]
    assert registry.rollback("so is this", name).version == "1"
    with pytest.raises(
        BadInput, match=r"before it\. Name a version: --to-version VERSION\. It has: 1, 2, 3\."
    ):
        registry.rollback("and this", name)
    registry.promote("3", "it was good after all", name)
    assert registry.champions(registry.history(name)) == ["1", "3"]
    assert registry.rollback("to a named one", name, to="2").version == "2"
    assert registry.champion(name) == "2"


def test_what_is_not_there_is_bad_input(name, runs):
    with pytest.raises(BadInput, match="has no champion"):
        registry.rollback("none", name)
    with pytest.raises(BadInput, match="no run"):
        registry.promote("0123abcd" * 4, "none", name)
    registry.promote(runs[0], "first", name)
    with pytest.raises(BadInput, match="no version '7'"):
        registry.promote("7", "none", name)
    with pytest.raises(BadInput, match=r"no version '7'\. It has: 1\."):
        registry.rollback("none", name, to="7")


@pytest.mark.parametrize(("step", "after"), KILLS)
def test_a_kill_loses_nothing(name, runs, monkeypatch, step, after):
    first = step == "create_registered_model"
    if not first:
        registry.promote(runs[0], "first", name)
    before = registry.champion(name)
    whole = getattr(MlflowClient, step)

    def die(*args, **kwargs):
        if after:
            whole(*args, **kwargs)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, step, die)
        with pytest.raises(Killed):
            registry.promote(runs[1], "second", name)

    moved = after and step == "set_registered_model_alias"
    assert registry.champion(name) == ("2" if moved else before)
    # What is registered is whole.
    for version in tracking.client().search_model_versions(f"name = '{name}'"):
        assert version.tags["task"]
        assert version.description.startswith("# TF-IDF")
        assert tracking.model_directory(f"models:/{name}/{version.version}").is_dir()

    registry.promote(runs[1], "second", name)
    latest = "1" if first else "2"
    assert registry.champion(name) == latest
    assert moves(name)[-1] == (latest, before, "promotion", True)
    assert all(done for *_, done in moves(name))
    assert len(tracking.client().search_model_versions(f"name = '{name}'")) == int(latest)


def test_a_change_that_was_never_finished_is_told_as_such(name, runs, monkeypatch):
    registry.promote(runs[0], "first", name)
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "set_registered_model_alias", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            registry.promote(runs[1], "second", name)
    registry.promote(runs[2], "third", name)
    assert moves(name) == [
        ("1", None, "promotion", True),
        ("2", "1", "promotion", False),
        ("3", "1", "promotion", True),
    ]
    assert registry.champions(registry.history(name)) == ["1", "3"]


def test_champions_are_listed_with_their_times_or_how_one_is_made(name, runs, capsys):
    verb = ["ops", "champions", "--name", name]
    assert command(cli, verb) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said == f"{name} has no champion yet; 'ssi retrain' makes one"
    registry.promote(runs[0], "first", name)
    assert command(cli, verb) == 0
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d  promotion  first", capsys.readouterr().out)


def test_the_verbs(name, runs, capsys):
    def ssi(*said):
        code = command(cli, [*said, "--name", name, "--json"])
        return code, json.loads(capsys.readouterr().out)

    assert ssi("ops", "promote", runs[0])[0] == 0
    code, said = ssi("ops", "promote", runs[1], "--why", "better")
    assert (code, said["version"], said["before"], said["why"]) == (0, "2", "1", "better")
    assert ssi("ops", "rollback")[1]["version"] == "1"
    code, said = ssi("ops", "champions")
    assert (code, said["champion"]) == (0, "1")
    assert [change["how"] for change in said["changes"]] == ["promotion", "promotion", "rollback"]
    assert ssi("ops", "rollback", "--to-version", "9")[0] == 3
    assert command(cli, ["ops", "champions", "--name", name]) == 0
    assert f"the champion of {name} is version 1" in capsys.readouterr().out


def test_a_server_that_is_asked_twice_makes_no_second_champion(name, runs, monkeypatch):
    once = MlflowClient.create_model_version
    # It was killed when it had made the version, and before it answered.
    monkeypatch.setattr(
        MlflowClient,
        "create_model_version",
        lambda *what, **how: (once(*what, **how), once(*what, **how))[1],
    )
    assert registry.promote(runs[0], "better", name).version == "1"
    assert registry.version_of(runs[0], name) == "1"
    assert moves(name) == [("1", None, "promotion", True)]
