import json

import numpy as np
import polars as pl
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.models.bilinear.half_transductive import HalfTransductive
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.task import build_task, open_task
from ssi_core.tasks.training_part import cold_documents, without_cold


@pytest.fixture(scope="module")
def task(corpus_dir, tmp_path_factory):
    out = tmp_path_factory.mktemp("cold") / "task"
    build_task(corpus_dir, out, cold=0.2, views=("counts", "raw"))
    return open_task(out)


def test_a_title_stays_cold_whatever_is_added():
    titles = pl.Series([f"Page {i}" for i in range(4000)])
    cold = cold_documents(titles, 0.1, seed=0)
    assert 320 < len(cold) < 480
    np.testing.assert_array_equal(cold_documents(titles[:900], 0.1, seed=0), cold[cold < 900])
    assert set(cold) <= set(cold_documents(titles, 0.2, seed=0))
    assert set(cold) != set(cold_documents(titles, 0.1, seed=1))


def test_links_of_cold_documents_are_for_testing_and_the_others_stay(task, task_dir):
    whole = open_task(task_dir)
    assert not len(whole.documents.test_only)
    assert 20 < len(task.documents.test_only) < 60
    everything = []
    for side in ("train", "valid", "test"):
        before, after = (getattr(t, side).rows for t in (whole, task))
        touched = np.isin(after, task.documents.test_only).any(axis=1)
        assert touched.any() == (side == "test")
        kept = before[~np.isin(before, task.documents.test_only).any(axis=1)]
        np.testing.assert_array_equal(after[~touched], kept)
        everything.append((before, after))
    befores, afters = (np.concatenate(rows) for rows in zip(*everything, strict=True))
    np.testing.assert_array_equal(np.unique(befores, axis=0), np.unique(afters, axis=0))
    assert json.loads((task.path / "artefact.json").read_text())["counts"]["cold_documents"] == len(
        task.documents.test_only
    )


def test_without_them_a_task_is_the_same_links_between_the_same_documents(task):
    part = without_cold(task)
    assert part.queries is part.documents
    assert not len(part.documents.test_only)
    assert not set(part.documents.ids) & set(task.documents.ids[task.documents.test_only.tolist()])
    for side in ("train", "valid"):
        ids = [
            {(t.queries.ids[q], t.documents.ids[d]) for q, d in getattr(t, side).rows.tolist()}
            for t in (task, part)
        ]
        assert ids[0] == ids[1]
    rows = [task.documents.ids.to_list().index(id_) for id_ in part.documents.ids]
    kept = part.documents.matrix("raw")
    assert kept is part.queries.matrix("raw")
    assert (kept != task.documents.matrix("raw")[rows]).nnz == 0
    np.testing.assert_array_equal(
        part.exclude.toarray(), task.exclude.toarray()[np.ix_(rows, rows)]
    )
    assert without_cold(part) is part


def test_pools_are_renumbered(corpus_dir, tmp_path):
    build_task(corpus_dir, tmp_path / "task", cold=0.2, pool=50)
    task = open_task(tmp_path / "task")
    part = without_cold(task)
    wanted = [
        task.documents.ids[int(row)] for row in task.pool if row not in task.documents.test_only
    ]
    assert [part.documents.ids[int(row)] for row in part.pool] == wanted


@pytest.mark.trains
def test_a_model_ranks_cold_documents_by_their_words(task):
    model = HalfTransductive(
        dimensions=8, rates=(0.1,), epoch=500, budget=1000, functional_budget=3000, margin=0.3
    )
    fit = model.fit(task, np.random.default_rng(0))
    assert len(fit.arrays["v"]) == len(task.documents) - len(task.documents.test_only)
    cold = task.documents.take(task.documents.test_only)
    expected = cold.matrix("raw") @ fit.arrays["U"]
    np.testing.assert_allclose(fit.embed_documents(cold).dense, expected, atol=1e-6)
    report = evaluate(fit, task, tuples=0)
    losses = dict(report.slices.group_by("slice").agg(pl.col("rank_loss").mean()).iter_rows())
    assert losses["cold"] < 0.2


def test_an_unlearnt_model_has_the_same_loss_on_cold_documents(task):
    report = evaluate(TfIdf("raw").fit(task, np.random.default_rng(0)), task)
    losses = dict(report.slices.group_by("slice").agg(pl.col("rank_loss").mean()).iter_rows())
    assert losses["cold"] == pytest.approx(losses["warm"], abs=0.01)


@pytest.mark.parametrize(
    "wrong", [{"cold": 1.0}, {"cold": -0.1}, {"cold": 0.1, "split": "documents"}]
)
def test_wrong_shares_are_named(wrong, corpus_dir, tmp_path):
    with pytest.raises(ValueError, match="cold="):
        build_task(corpus_dir, tmp_path / "task", **wrong)
