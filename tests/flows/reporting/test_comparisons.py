"""Which comparison of a table is taken, and the list of all."""

import json

import pytest

from flows import tracking
from flows.cli import cli
from flows.reporting import compare
from flows.reporting.comparisons import latest, listed
from ssi_core.command.verb import run
from ssi_core.experiment import parse_table
from ssi_core.types import BadInput
from tests.flows.comparisons import report

pytestmark = pytest.mark.usefixtures("mlflow_root")


def write(table, comparison, task, *labels, done=True):
    declared = parse_table(
        {
            "name": table,
            "title": "t",
            "rows": [{"label": label, "model": "tfidf"} for label in ("a", "b")],
        }
    )
    for seed, label in enumerate(labels):
        try:
            with tracking.row_run(declared, declared.row(label), 0, comparison, task) as made:
                made.report(report(0.0, seed))
                if not done:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass


@pytest.fixture(scope="module")
def retrainings(mlflow_store, task_dir):
    """A table, then a row of it alone, a retraining and rows that were interrupted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(mlflow_store))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        write("nightly", "nightly-0123456789ab", task_dir, "a", "b")
        compare.summarise("nightly", "nightly-0123456789ab")
        write("nightly", "nightly-20260101-0000-abcd", task_dir, "a")
        write("nightly", "retrain-ssi-0123456789ab", task_dir, "b")
        write("nightly", "nightly-ba9876543210", task_dir, "a", "b", done=False)
        write("only-retrainings", "retrain-ssi-ffffffffffff", task_dir, "a")
        write("retrain-x", "retrain-x-0123456789ab", task_dir, "a")


def test_the_finished_table_is_taken_after_a_retraining(retrainings, capsys):
    assert run(cli, ["compare", "nightly", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["comparison"] == "nightly-0123456789ab"
    assert {row["label"] for row in found["rows"]} == {"a", "b"}
    retraining = ("--comparison", "retrain-ssi-0123456789ab")
    assert run(cli, ["compare", "nightly", *retraining, "--json"]) == 0
    assert [row["label"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["b"]


def test_rows_alone_are_taken_where_no_table_is_finished(retrainings):
    assert latest("retrain-x") == "retrain-x-0123456789ab"
    with pytest.raises(BadInput, match=r"only of retrainings .*--list"):
        latest("only-retrainings")
    with pytest.raises(BadInput, match="no experiment 'nix'"):
        latest("nix")


def test_comparisons_are_listed_the_newest_first(retrainings, capsys):
    assert run(cli, ["compare", "nightly", "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["comparisons"]
    assert [(one["comparison"], one["what"], one["rows"]) for one in found] == [
        ("nightly-ba9876543210", "rows", 0),
        ("retrain-ssi-0123456789ab", "retraining", 1),
        ("nightly-20260101-0000-abcd", "rows", 1),
        ("nightly-0123456789ab", "table", 2),
    ]
    assert all(one["table"] == "nightly" for one in found)
    assert [one["when"] for one in found] == sorted((one["when"] for one in found), reverse=True)
    assert {one.table for one in listed()} >= {"nightly", "only-retrainings", "retrain-x"}

    assert run(cli, ["compare", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.split()[:3] == ["nightly", "nightly-0123456789ab", "table"] for line in lines)


def test_the_file_of_a_table_stands_for_its_name(tmp_path, capsys):
    text = 'name = "nightly"\ntitle = "x"\n[[rows]]\nlabel = "a"\nmodel = "bm25"\n'
    (tmp_path / "mine.toml").write_text(text)
    assert run(cli, ["compare", str(tmp_path / "mine.toml"), "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["comparisons"]
    assert {one["table"] for one in found} == {"nightly"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "--list"),
        (["nightly", "--list", "--slices"], 2, "--list"),
        (["nix", "--list"], 3, "no experiment 'nix'"),
    ],
)
def test_wrong_use_is_said(arguments, code, said, capsys):
    assert run(cli, ["compare", *arguments]) == code
    assert said in capsys.readouterr().err
