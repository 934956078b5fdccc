"""Memory and disk of an index are said before it is made."""

import tracemalloc

import numpy as np
import pytest

from ssi_core.models.bm25 import Bm25
from ssi_core.models.latent.lsi import Lsi
from ssi_core.models.tfidf import TfIdf
from ssi_core.serving.cost import index_cost, require_index
from ssi_core.serving.index import build_index
from ssi_core.tasks.task import open_task
from ssi_core.types import Refused, Texts


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


@pytest.mark.parametrize(
    ("model", "settings", "expected"),
    [
        (TfIdf(), {}, (279_600, 61_360)),
        (Bm25(), {}, (287_600, 119_120)),
        (Bm25(), {"words": False}, (287_600, 62_960)),
        (Lsi(dimensions=(5, 80)), {}, (69_360, 65_360)),
        (Lsi(dimensions=20), {"words": False, "storage": "float16"}, (93_360, 14_800)),
    ],
)
@pytest.mark.trains
def test_an_index_of_200_documents_takes(model, settings, expected, task_dir):
    task = open_task(task_dir)
    fitted = model.fit(task, np.random.default_rng(0))
    assert index_cost(fitted, task.documents, **settings) == expected


def test_an_index_of_nothing_takes_nothing(task_dir):
    task = open_task(task_dir)
    fitted = TfIdf().fit(task, np.random.default_rng(0))
    assert index_cost(fitted, task.documents.take(slice(0))) == (0, 0)


def test_an_index_that_does_not_fit_is_refused_with_a_remedy(task_dir, monkeypatch, tmp_path):
    task = open_task(task_dir)
    fitted = TfIdf().fit(task, np.random.default_rng(0))
    monkeypatch.setenv("SSI_MEMORY", "1k")
    with pytest.raises(Refused, match=r"index takes about 30 MB .*--without-words"):
        require_index(fitted, task.documents, tmp_path / "index", words=True)
