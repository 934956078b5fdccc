"""The table of docs/auto.md is the committed results; a share of pairs is one of validation."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from benchmarks import expect, goals
from ssi_core.models.combined.residual import Residual
from ssi_core.tasks.task import open_task

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_of_the_page_are_what_was_measured():
    found = json.loads((DOCS / "results" / "goals.json").read_text())
    assert found["compared"] == goals.compared(found["results"])
    lines = [*goals.table(found["results"]), *goals.summary(found["compared"])]
    assert lines
    page = (DOCS / "auto.md").read_text().splitlines()
    assert [line for line in lines if line not in page] == []


def test_a_share_of_the_pairs_has_its_share_of_validation_and_the_whole_test(task_dir):
    task = open_task(task_dir)
    half = expect.share_of(task, len(task.train) // 2)
    assert 0.3 < len(half.train) / len(task.train) < 0.7
    assert min(30, len(task.valid)) * 0.5 < len(half.valid) <= len(task.valid)
    assert half.test is task.test
    assert expect.share_of(task, None) is task


def test_the_rows_are_what_a_stranger_calls(task_dir):
    task = open_task(task_dir)
    least, documented, auto, random = (goals.model_of(row, task) for row in goals.ROWS)
    assert (least.name, documented.name, auto.name) == ("untrained", "bilinear", "auto")
    assert random == replace(documented, lsi_weight=0) != documented
    assert (documented.epoch, documented.patience, documented.stop_by) == (
        "passes",
        "passes",
        "map",
    )
    assert not isinstance(documented, Residual)


def result(name, *means):
    """A set on which each comparison has a mean difference, told from 0 where it is not 0."""
    compared = zip(goals.COMPARED, [*means, 0.4], strict=True)
    differences = [
        {"of": of, "from": other, "mean": mean, "se": 0.001, "p": 1e-4 if mean else 1.0}
        for (of, other), mean in compared
    ]
    return {"kind": "link", "set": name, "pairs": 1, "differences": differences}


def test_the_summary_counts_what_is_told_apart_and_has_the_interval_over_sets():
    results = [result("a", 0.1, 0.2, 0.0), result("b", 0.3, -0.2, 0.0), result("c", 0.2, 0.0, 0.0)]
    lines = goals.summary(goals.compared(results))
    first, second, third, fourth = (line.split(" | ")[1:] for line in lines)
    half = 4.303 * np.std([0.1, 0.2, 0.3], ddof=1) / np.sqrt(3)
    low, high = 0.2 - half, 0.2 + half
    assert first == ["3", "3", "0", f"+0.200 ({low:+.3f} to {high:+.3f}) |"]
    assert second[:3] == ["3", "1", "1"]
    assert third == ["3", "0", "0", "+0.000 (+0.000 to +0.000) |"]
    assert fourth == ["3", "3", "0", "+0.400 (+0.400 to +0.400) |"]


def test_a_difference_is_that_of_the_same_queries():
    values = {"SSI()": np.array([0.5, 0.7, 0.9]), "auto": np.array([0.6, 0.8, 1.0])}
    found = goals._difference("auto", "SSI()", values)
    assert (found["mean"], found["se"]) == (pytest.approx(0.1), pytest.approx(0, abs=1e-9))
    assert goals._difference("auto", "auto", values)["p"] == 1.0


class Made:
    """A model whose fit on a fold is told by the fold alone."""

    def __init__(self, row):
        self.model = self.row = row

    def fit(self, fold, rng):
        self.fold = fold
        return self


def test_folds_are_measured_on_the_queries_of_all_of_them(monkeypatch):
    folds = [SimpleNamespace(train=[0] * 4, valid=[0] * 2, values=[0.2, 0.4, 0.6])]
    folds.append(SimpleNamespace(train=[0] * 8, valid=[0] * 4, values=[1.0]))

    def evaluate(fit, fold, **_):
        assert fit.fold is fold
        gain = 0.1 * (fit.row == "auto")
        values = pl.DataFrame({"map": [value + gain for value in fold.values]})
        return SimpleNamespace(per_query=values, means={"rank_loss": fold.values[0]})

    monkeypatch.setattr(goals, "model_of", lambda row, task: Made(row))
    monkeypatch.setattr(goals.expect, "evaluate", evaluate)
    monkeypatch.setattr(goals.expect, "title", str)
    found = goals.measured("a", "judgement", folds, 2)
    assert (found["pairs"], found["valid_pairs"], found["test_queries"]) == (6, 3, 4)
    assert found["rows"]["SSI()"]["mean"] == pytest.approx(2.2 / 4)
    assert found["rows"]["SSI()"]["rank_loss"] == pytest.approx(0.6)
    assert found["differences"][1]["mean"] == pytest.approx(0.1)
