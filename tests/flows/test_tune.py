"""Settings chosen on validation: who wins, what is written, and that the test side stays shut."""

import json
import shutil
import tomllib

import mlflow
import numpy as np
import pytest

from flows import tune
from flows.cli import cli
from flows.commands.tune import toml_lines
from flows.reporting import comparisons
from flows.training.rows import run_row
from ssi_core.command.verb import run as command
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.models import MODELS
from ssi_core.tasks.blind import without_test
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import write_collection
from tests.seals import reseal

TABLE = """
name = "tuned"
title = "Tuned"

[tasks.links]

[[rows]]
label = "U'V + I"
model = "bilinear"
dimensions = 5
view = "sublinear:10"
diagonal_view = "raw"
init_std = 0.01
rates = [0.3, 0.1]
epoch = 250
budget = 500
curves = true

[[rows]]
label = "two parts"
model = "mixture"

[[rows.parts]]
model = "tfidf"
view = "raw"

[[rows.parts]]
model = "bilinear"
dimensions = 5
view = "raw"
diagonal = "none"
epoch = 250
budget = 500

[[rows]]
label = "later"
model = "bilinear"
dimensions = 5
start = "U'V + I"
"""

GRID = {"margin": [1.0, 0.1], "rates": [0.1, 0.01]}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "tuned.toml"
    path.write_text(TABLE)
    return str(path)


@pytest.fixture
def table(written, mlflow_root):
    return written


@pytest.fixture(scope="module")
def searched(written, task_dir, mlflow_store):
    """A search of the grid, seed 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(mlflow_store))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        return tune.tune(written, "U'V + I", task_dir, GRID)


def values(found):
    return [(one.settings, one.rank_loss, one.map, one.worse, one.error) for one in found.tries]


def test_the_first_that_is_within_one_error_of_the_best_wins():
    far, near, best = np.array([[0.5, 0.1, 0.3], [0.2, 0.1, 0.3], [0.1, 0.1, 0.3]])
    # near - best is (.1, 0, 0): mean .1 / 3, standard error .1 / 3.
    differences, winner = tune.choose([far, near, best])
    assert differences[1] == pytest.approx((0.1 / 3, 0.1 / 3))
    assert differences[2] == (0, 0)
    assert winner == 0  # (.4, 0, 0) has a mean of one error, too: nothing tells them apart
    steady = best + 0.01
    assert tune.choose([steady, best])[1] == 1
    assert tune.choose([best, steady])[1] == 0
    assert tune.choose([None, best]) == ([(np.inf, 0.0), (0.0, 0.0)], 1)
    assert tune.choose([np.array([0.2]), np.array([0.1])])[1] == 1
    with pytest.raises(BadInput, match="lower rates"):
        tune.choose([None, None])


@pytest.mark.trains
def test_a_try_is_the_row_with_other_settings_measured_on_validation(table, task_dir):
    found = tune.tune(table, "U'V + I", task_dir, GRID, seed=3)
    assert [one.settings for one in found.tries] == [
        {"margin": m, "rates": r} for m in (1.0, 0.1) for r in (0.1, 0.01)
    ]
    task = open_task(task_dir)
    plain = {"dimensions": 5, "view": "sublinear:10", "diagonal_view": "raw", "init_std": 0.01}
    model = MODELS["bilinear"](**plain, margin=0.1, rates=(0.1,), epoch=250, budget=500)
    report = evaluate(
        model.fit(task, np.random.default_rng([3])), task, side="valid", queries=10**6, tuples=0
    )
    assert found.tries[2].rank_loss == pytest.approx(report.means["rank_loss"], abs=1e-9)
    assert found.tries[2].map == pytest.approx(report.means["map"], abs=1e-9)
    assert found.chosen == found.tries[found.winner].settings


@pytest.mark.trains
@pytest.mark.parametrize("test_side", ["of no pairs", "of other pairs"])
def test_the_test_side_is_never_opened(searched, table, task_dir, tmp_path, test_side):
    shutil.copytree(task_dir, tmp_path / "task")
    pairs = tmp_path / "task" / "pairs" / "test.npy"
    if test_side == "of no pairs":
        np.save(pairs, np.zeros((2, 3)))
    else:
        np.save(pairs, np.load(pairs.with_name("valid.npy")))
    reseal(tmp_path / "task")
    if test_side == "of no pairs":
        with pytest.raises(BadInput, match="'test'"):
            open_task(tmp_path / "task")
    assert values(tune.tune(table, "U'V + I", tmp_path / "task", GRID)) == values(searched)


@pytest.mark.trains
def test_runs_of_a_search_name_no_test_measure_and_are_in_no_comparison(searched, table, task_dir):
    client = mlflow.MlflowClient()
    for one in searched.tries:
        run = client.get_run(one.run_id)
        assert run.data.tags["kind"] == "try"
        assert run.data.tags["search_id"] == searched.search_id
        assert run.data.metrics["valid/rank_loss"] == one.rank_loss
        assert not [name for name in run.data.metrics if "test" in name]
        artifacts = [file.path for file in client.list_artifacts(one.run_id)]
        assert sorted(artifacts) == ["facts.json", "table.json"]
    row = run_row(table, "U'V + I", task_dir, 0, "tuned-comparison")
    assert [one.comparison for one in comparisons.listed("tuned") if one.rows] == [
        "tuned-comparison"
    ]
    assert "test/rank_loss" in client.get_run(row).data.metrics


@pytest.mark.trains
def test_judged_queries_are_measured_in_all_folds(tmp_path, mlflow_root):
    build_task(write_collection(tmp_path / "corpus"), tmp_path / "task", relevant="judgement")
    (tmp_path / "judged.toml").write_text(
        'name = "judged"\ntitle = "Judged"\n[tasks.queries]\nrelevant = "judgement"\n'
        '[[rows]]\nlabel = "QE"\nmodel = "query_expansion"\nview = "raw"\n'
    )
    found = tune.tune(
        str(tmp_path / "judged.toml"), "QE", tmp_path / "task", {"expansions": [1, 5]}
    )
    task = open_task(tmp_path / "task")
    losses = []
    for fold in task.folds:
        model = MODELS["query_expansion"](expansions=(5,)).fit(fold, np.random.default_rng([0]))
        frame = evaluate(model, fold, side="valid", queries=10**6, tuples=0).per_query
        losses += frame["rank_loss"].to_list()
    assert len(losses) == len(task.queries)
    assert found.tries[1].rank_loss == pytest.approx(np.mean(losses))


def test_a_task_without_its_test_side_has_none_anywhere(tmp_path, mates_task_dirs):
    build_task(write_collection(tmp_path / "corpus"), tmp_path / "task", relevant="judgement")
    for place in (tmp_path / "task", *mates_task_dirs.values()):
        whole, blind = open_task(place), open_task(place, tested=False)
        assert len(blind.folds) == len(whole.folds)
        assert set(blind.auxiliary) == set(whole.auxiliary)
        for one in (blind, *blind.folds, *blind.auxiliary.values()):
            assert len(one.test) == 0
        for one, other in zip((whole, *whole.folds), (blind, *blind.folds), strict=True):
            assert np.array_equal(one.train.rows, other.train.rows)
            assert np.array_equal(one.valid.rows, other.valid.rows)
        assert not len(without_test(whole).test.shown)


@pytest.mark.trains
def test_a_setting_of_a_part(table, task_dir):
    found = tune.tune(table, "two parts", task_dir, {"parts.2.rates": [0.1, 0.01]})
    parameters = mlflow.get_run(found.tries[1].run_id).data.params
    assert "(0.01,)" in parameters["parts"] or "[0.01]" in parameters["parts"]
    assert found.tries[0].rank_loss != found.tries[1].rank_loss


@pytest.mark.parametrize(
    ("label", "grid", "match"),
    [
        ("U'V + I", {"margn": [1.0]}, "Did you mean 'margin'"),
        ("U'V + I", {"margin": [1.0, -1.0]}, "margin"),
        ("two parts", {"parts.3.view": ["raw"]}, "the row has 2 parts"),
        ("two parts", {"parts.2": [1]}, "the row has 2 parts"),
        ("later", {"margin": [1.0]}, "starts from the model of"),
    ],
)
def test_what_cannot_be_tried_is_refused_before_any_training(table, task_dir, label, grid, match):
    with pytest.raises(BadInput, match=match):
        tune.tune(table, label, task_dir, grid)


@pytest.mark.trains
def test_the_verb_shows_the_tries_and_the_lines_of_the_winner(table, task_dir, capsys):
    how = [
        "lab",
        "tune",
        table,
        "--task",
        str(task_dir),
        "--row",
        "U'V + I",
        "--grid",
        "margin=1,0.1",
    ]
    assert command(cli, [*how, "--grid", "view=raw,sublinear:10", "--grid", "rates=0.1"]) == 0
    shown = capsys.readouterr().out
    assert "test" not in shown
    lines = shown.splitlines()
    chosen = tomllib.loads("\n".join(lines[-3:]))
    starred = next(line.split() for line in lines if line.startswith(" *") or line.startswith("*"))
    assert starred[1:4] == [str(chosen["margin"]), chosen["view"], str(chosen["rates"][0])]
    assert command(cli, [*how, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["chosen"] == found["tries"][found["winner"]]["settings"]


@pytest.mark.parametrize(
    ("said", "match"),
    [
        (["margin"], "expected NAME=VALUE"),
        (["margin="], "expected NAME=VALUE"),
        (["margin=1", "margin=2"], "set twice"),
    ],
)
def test_a_setting_that_is_misspelt_is_a_wrong_use(table, task_dir, capsys, said, match):
    options = [part for one in said for part in ("--grid", one)]
    how = ["lab", "tune", table, "--task", str(task_dir), "--row", "U'V + I", *options]
    assert command(cli, how) == 2
    assert match in capsys.readouterr().err


def test_chosen_settings_are_lines_of_a_table():
    lines = toml_lines({"margin": 0.1, "rates": 0.05, "view": "raw:50", "parts.2.tied": True})
    assert lines == [
        "margin = 0.1",
        "rates = [0.05]",
        'view = "raw:50"',
        "# parts.2",
        "tied = true",
    ]
