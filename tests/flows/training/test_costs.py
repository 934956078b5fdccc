import logging
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from flows.reporting.shipped_tables import find_table
from flows.training.costs import require_rows
from ssi_core.models.bm25 import Bm25
from ssi_core.models.latent.lsi import Lsi
from ssi_core.models.measuring import require_evaluation
from ssi_core.models.tfidf import TfIdf
from ssi_core.resources import Cost
from ssi_core.serving.cost import index_cost, require_index
from ssi_core.serving.index import build_index
from ssi_core.tasks.task import open_task
from ssi_core.types import Refused, Texts


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


def test_what_does_not_fit_is_refused_with_a_remedy(row, task_dir, monkeypatch, tmp_path):
    task = open_task(task_dir)
    monkeypatch.setenv("SSI_MEMORY", "1k")
    with pytest.raises(Refused, match=r"training of U'V \+ I takes .*fewer words, fewer dim"):
        require_rows([(row, Path(task_dir))], workers=0, threads=1)
    with pytest.raises(Refused, match=r"evaluation takes .*One query would take as much"):
        require_evaluation(TfIdf(), task)
    fitted = TfIdf().fit(task, np.random.default_rng(0))
    with pytest.raises(Refused, match=r"index takes .*--without-words"):
        require_index(fitted, task.documents, tmp_path / "index", words=True)


@pytest.fixture(scope="module")
def many(task_dir):
    """The documents of the task again and again, for more than a block of an index."""
    few = open_task(task_dir).documents
    again = few.take(np.tile(np.arange(len(few)), 40_000 // len(few)))
    return Texts(again.ids, again.titles, dict(again.matrices), again.views)


@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize("storage", ["float32", "float16"])
@pytest.mark.parametrize("model", [TfIdf(), Bm25(), Lsi(dimensions=20), Lsi(dimensions=(5, 80))])
@pytest.mark.trains
def test_an_index_takes_what_was_said(model, storage, words, task_dir, many, tmp_path):
    fitted = model.fit(open_task(task_dir), np.random.default_rng(0))
    out, settings = tmp_path / "index", {"words": words, "storage": storage}
    said = index_cost(fitted, many, **settings)
    tracemalloc.start()
    build_index(fitted, many, out, parents={}, **settings)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    files = [f for f in out.rglob("*") if f.suffix in (".npy", ".parquet")]
    taken = sum(file.stat().st_size for file in files)

    assert taken <= said.disk <= 1.3 * taken + 40 * len(many)
    assert peak <= said.memory <= 3 * peak


def test_an_index_of_nothing_takes_nothing(task_dir):
    task = open_task(task_dir)
    fitted = TfIdf().fit(task, np.random.default_rng(0))
    assert index_cost(fitted, task.documents.take(slice(0))) == (0, 0)
