"""Comparisons of one table on the folds of one collection."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import polars as pl
import pytest

from flows import tracking
from flows.cli import cli
from flows.reporting.compare import Loaded, load, results
from flows.reporting.folds import pool
from flows.reporting.together import together
from ssi_core.command.verb import run
from ssi_core.evaluation.claims import average_seeds
from ssi_core.experiment import parse_table
from ssi_core.tasks.task import build_task
from ssi_core.types import BadInput, Report
from tests.flows import comparisons

EXPERIMENT = comparisons.TABLE["name"]
TABLE = parse_table(
    {
        "name": "two-rows",
        "title": "Two rows",
        "measures": ["map"],
        "rows": [{"label": "a", "model": "tfidf"}, {"label": "b", "model": "bm25"}],
        "claims": [{"above": "b", "below": "a", "measure": "map"}],
    }
)


def reported(values, first=0):
    """A report of MAP by the id of a query; its collection numbers the queries from ``first``."""
    numbers = np.arange(first, first + len(values))
    frame = pl.DataFrame({"query": numbers, "id": list(values), "map": list(values.values())})
    mean = float(frame["map"].mean())
    return Report(frame, {"map": mean}, {"map": 0.1}, {"p_at_10": 0.5}, candidates="judged ones")


def fold(name, a, b, **other):
    """Row ``a`` with one seed and row ``b`` with two, on the queries of a fold."""
    reports = {"a": [reported(a)], "b": [reported(each) for each in b]}
    runs = [
        tracking.FinishedRow(
            label, seed, f"{name}-{label}{seed}", {"usage/row_seconds": 2.0, "other": 1.0},
            {"rate": other.get("rate", "0.1")}, {"task": f"task-{name}"}, "",
        )
        for label, of_label in reports.items()
        for seed in range(len(of_label))
    ]  # fmt: skip
    means = {label: average_seeds(of_label) for label, of_label in reports.items()}
    return Loaded("two-rows", name, TABLE, runs, reports, means, other.get("code", "code"))


ONE = fold("one", {"q2": 0.1, "q1": 0.3}, [{"q2": 0.5, "q1": 0.7}, {"q2": 0.7, "q1": 0.9}])
OTHER = fold("other", {"q0": 0.8}, [{"q0": 0.2}, {"q0": 0.4}])


def test_every_query_counts_the_same_in_all_folds():
    whole = pool([ONE, OTHER])
    # Not .4, which is the mean of the folds' own means (.2 and .8 of row a is .5).
    assert whole.means["a"].rows() == [("q0", 0.8), ("q1", 0.3), ("q2", 0.1)]
    assert whole.reports["a"][0].means["map"] == pytest.approx(1.2 / 3)
    values = np.array([0.8, 0.3, 0.1])
    assert whole.reports["a"][0].errors["map"] == pytest.approx(values.std(ddof=1) / math.sqrt(3))
    # Each seed of b is pooled with itself: (.2 + .7 + .5) / 3 and (.4 + .9 + .7) / 3.
    assert [one.means["map"] for one in whole.reports["b"]] == pytest.approx([1.4 / 3, 2 / 3])
    assert dict(whole.means["b"].rows()) == pytest.approx({"q0": 0.3, "q1": 0.8, "q2": 0.6})


def test_queries_have_numbers_of_their_own_though_each_fold_counts_from_nought():
    frame = pool([ONE, OTHER]).reports["a"][0].per_query
    assert frame.columns == ["query", "id", "map"]
    assert frame.select("query", "id").rows() == [(0, "q0"), (1, "q1"), (2, "q2")]


def test_runs_of_a_row_are_one_run():
    whole = pool([ONE, fold("other", {"q0": 0.8}, [{"q0": 0.2}, {"q0": 0.4}], rate="0.3")])
    assert whole.comparison == "one,other"
    assert [(one.label, one.seed) for one in whole.runs] == [("a", 0), ("b", 0), ("b", 1)]
    joined = whole.runs[0]
    assert joined.run_id == "one-a0,other-a0"
    assert joined.data == {"task": "task-one,task-other"}
    assert joined.chosen == {"rate": "0.1,0.3"}
    assert joined.metrics["usage/row_seconds"] == 4.0
    assert joined.metrics["test/map"] == pytest.approx(0.4)
    assert "other" not in joined.metrics


def test_the_code_is_known_where_it_is_that_of_all_folds():
    assert pool([ONE, OTHER]).code == "code"
    for code in (None, "earlier"):
        assert pool([ONE, dataclasses.replace(OTHER, code=code)]).code is None


def test_a_query_that_two_folds_test_is_refused():
    twice = fold("twice", {"q1": 0.8}, [{"q1": 0.2}, {"q1": 0.4}])
    with pytest.raises(BadInput, match=r"'one,twice': two of them test the query 'q1'\. Name each"):
        pool([ONE, twice])


def test_folds_of_other_rows_seeds_or_settings_are_refused():
    fewer = fold("fewer", {"q0": 0.8}, [{"q0": 0.2}])
    with pytest.raises(BadInput, match="only one of them has finished the row 'b' with seed 1"):
        pool([ONE, fewer])
    claims = dataclasses.replace(TABLE, claims=())
    with pytest.raises(BadInput, match="different settings of 'two-rows'"):
        pool([ONE, dataclasses.replace(OTHER, table=claims)])


@pytest.fixture(scope="module")
def written(mlflow_store, corpus_dir, tmp_path_factory):
    """Three comparisons, on three tasks that test different queries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(mlflow_store))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        path, made = tmp_path_factory.mktemp("folds"), comparisons.report
        for number, name in enumerate(("fold-1", "fold-2", "apart")):
            build_task(corpus_dir, path / name, words=80 + number, views=("raw",))

            def renamed(gain, seed=0, name=name):
                report = made(gain, seed)
                ids = report.per_query["id"] + f" of {name}"
                return dataclasses.replace(report, per_query=report.per_query.with_columns(id=ids))

            patch.setattr(comparisons, "report", renamed)
            gains = (("TF-IDF", 0.0), ("BM25", 0.0), ("U'V + I", 0.05 * (number + 1)))
            comparisons.write(path / name, name, gains)
        yield


@pytest.mark.usefixtures("written")
def test_folds_are_one_comparison_in_every_command(capsys):
    alone = [load(EXPERIMENT, name) for name in ("fold-1", "fold-2")]
    assert run(cli, ["compare", EXPERIMENT, "--comparison", "fold-1,fold-2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["comparison"] == "fold-1,fold-2"
    (row,) = (row for row in found["summary"] if row["label"] == "U'V + I")
    assert (row["queries"], row["seeds"]) == (120, 2)
    values = np.concatenate([one.means["U'V + I"]["map"].to_numpy() for one in alone])
    assert row["measures"]["map"]["mean"] == pytest.approx(values.mean())
    assert row["measures"]["map"]["se"] == pytest.approx(values.std(ddof=1) / math.sqrt(120))
    assert found["reasons"] == {}
    assert results(load(EXPERIMENT, "fold-1,fold-2"))["claims"] == found["claims"]
    joint = together(EXPERIMENT, ["fold-1,fold-2", "apart"])
    assert [one["queries"] for one in joint["comparisons"]] == [120, 60]


@pytest.mark.usefixtures("written")
def test_a_fold_is_no_further_collection_beside_all_folds():
    with pytest.raises(BadInput, match="'fold-1,fold-2' and 'fold-2' are of the same collections"):
        together(EXPERIMENT, ["fold-1,fold-2", "fold-2"])


@pytest.mark.usefixtures("written")
def test_an_empty_name_among_folds_is_refused(capsys):
    assert run(cli, ["compare", EXPERIMENT, "--comparison", "fold-1,"]) == 2
    assert "it is empty" in capsys.readouterr().err
