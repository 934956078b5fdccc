"""The table of the defaults is the committed results; a share of pairs is one of validation."""

import json
from pathlib import Path

from benchmarks import defaults
from ssi_core.tasks.task import open_task

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_the_defaults_is_what_was_measured():
    results = json.loads((DOCS / "results" / "defaults.json").read_text())["results"]
    lines = list(defaults.table(results))
    assert lines
    page = (DOCS / "auto.md").read_text().splitlines()
    assert [line for line in lines if line not in page] == []


def test_a_share_of_the_pairs_has_its_share_of_validation_and_the_whole_test(task_dir):
    task = open_task(task_dir)
    half = defaults.share_of(task, len(task.train) // 2)
    assert 0.3 < len(half.train) / len(task.train) < 0.7
    assert min(30, len(task.valid)) * 0.5 < len(half.valid) <= len(task.valid)
    assert half.test is task.test
    assert defaults.share_of(task, None) is task


def test_the_row_before_ends_by_triples_and_the_rank_loss():
    before, now = (defaults.model_of(row, 1000) for row in ("before", "defaults"))
    assert (before.epoch, before.patience, before.decays) == (20_000, 50, 0)
    assert before.stop_by == "rank_loss"
    assert (now.epoch, now.patience, now.stop_by) == ("passes", "passes", "map")
