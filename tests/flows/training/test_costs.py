import logging
from pathlib import Path

import pytest

from flows.reporting.shipped_tables import find_table
from flows.training.costs import require_rows
from ssi_core.resources import Cost
from ssi_core.types import Refused


@pytest.fixture
def row(tiny):
    return find_table(str(tiny)).row("U'V + I")


@pytest.fixture(autouse=True)
def _place(monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))


def said(caplog):
    return [record.getMessage() for record in caplog.records]


def test_rows_are_said_in_one_line(row, task_dir, monkeypatch, caplog):
    monkeypatch.setenv("SSI_MEMORY", "8G")
    with caplog.at_level(logging.INFO, "ssi_core.resources"):
        require_rows([(row, Path(task_dir))] * 3, workers=2, threads=1)
        require_rows([(row, Path(task_dir))], workers=0, threads=1)
        require_rows([], workers=2, threads=1)
    both, alone = said(caplog)
    assert both.startswith("training of 3 rows, 2 at a time: takes about ")
    assert alone.startswith("training of U'V + I: takes about ")


def test_a_row_without_its_views_is_left_to_fail_by_itself(row, task_dir, monkeypatch):
    def lacking(*_):
        raise KeyError("sublinear:100")

    monkeypatch.setattr("flows.training.costs.cost_of", lacking)
    require_rows([(row, Path(task_dir))], workers=0, threads=1)


def test_a_row_of_this_process_counts_what_is_loaded_beside_it(row, task_dir, monkeypatch):
    monkeypatch.setattr("flows.training.costs.cost_of", lambda *_: Cost(0, 0))
    monkeypatch.setenv("SSI_MEMORY", "100M")
    with pytest.raises(Refused, match="takes about 150 MB"):
        require_rows([(row, Path(task_dir))], workers=0, threads=1)


def test_rows_that_fit_only_one_after_the_other_are_refused(row, task_dir, monkeypatch):
    rows = [(row, Path(task_dir))] * 3
    monkeypatch.setenv("SSI_MEMORY", "700M")
    require_rows(rows, workers=1, threads=1)
    with pytest.raises(Refused, match=r"2 at a time takes .*--threads 1"):
        require_rows(rows, workers=2, threads=1)


def test_what_does_not_fit_is_refused_with_a_remedy(row, task_dir, monkeypatch):
    monkeypatch.setenv("SSI_MEMORY", "1k")
    with pytest.raises(Refused, match=r"training of U'V \+ I takes .*fewer words, fewer dim"):
        require_rows([(row, Path(task_dir))], workers=0, threads=1)
