"""An encoder reads the texts that the models read, and each document once."""

import numpy as np
import pytest

from benchmarks import encoder
from benchmarks.encoder import Encoder, documents_of, embedded_by, fused, queries_of
from ssi_core.evaluation.candidates import candidates
from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.ranking import rank, scores_of
from ssi_core.tasks.task import build_task, open_task


@pytest.fixture(
    params=[{}, {"queries": "words:3"}, {"relevant": "self", "queries": "titles"}],
    ids=["documents", "words", "titles"],
)
def task(request, tmp_path, corpus_dir):
    build_task(corpus_dir, tmp_path / "task", views=("counts",), **request.param)
    return open_task(tmp_path / "task")


def test_texts_are_those_of_the_models(task):
    chosen = candidates(task, "test", None, 0)
    documents = documents_of(task)
    queries = queries_of(task, chosen, documents)
    for texts, side in ((documents, task.documents), (queries, task.queries.take(chosen.queries))):
        read = side.views["counts"].transform(texts)
        assert (read.astype(bool) != side.matrix("counts").astype(bool)).nnz == 0


def test_a_document_is_encoded_once(task_dir, tmp_path):
    task = open_task(task_dir)
    chosen = candidates(task, "test", None, 0)
    documents = documents_of(task)
    view, calls = task.documents.views["raw"], []

    def encode(texts):
        calls.append(len(texts))
        return view.transform(texts).toarray()

    queries = queries_of(task, chosen, documents)
    reader = Encoder("words", encode)
    first, again = (embedded_by(reader, queries, documents, tmp_path) for _ in range(2))
    assert calls.count(len(documents)) == 1
    np.testing.assert_array_equal(first.documents.dense, again.documents.dense)
    np.testing.assert_array_equal(first.queries.dense, first.documents.dense[chosen.queries])
    alone, both = (
        MEASURES["map"](rank(scores_of(one.queries, one.documents, chosen, 1), chosen)).mean()
        for one in (first, fused(first, again))
    )
    assert both == pytest.approx(alone)


def test_missing_packages_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(encoder, "PACKAGES", ("numpy", "no_such_package"))
    with pytest.raises(SystemExit, match=r"no no_such_package\.(.|\n)*pip install"):
        encoder.encoders(tmp_path)
