import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ssi_core import store
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.folds import pooled
from ssi_core.models import MODELS
from ssi_core.tasks import spec
from ssi_core.tasks.judged import folds_of, given_folds
from ssi_core.tasks.task import build_task, open_task
from ssi_core.tasks.training_part import training_part
from ssi_core.types import BadInput
from tests.corpora import judged_pairs, write_collection


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("judged")
    build_task(write_collection(out / "corpus"), out / "task", relevant="judgement")
    return out


@pytest.fixture(scope="module")
def task(built):
    return open_task(built / "task")


def keys(pairs):
    return {(q, d, g) for (q, d), g in zip(pairs.rows.tolist(), pairs.grade.tolist(), strict=True)}


def test_each_query_is_tested_once_and_never_learnt_from_then(task, built):
    judgements = judged_pairs(built / "corpus")
    everything = set()
    for number, fold in enumerate(task.folds):
        sides = [keys(pairs) for pairs in (fold.train, fold.valid, fold.test)]
        queries = [{q for q, _, _ in side} for side in sides]
        assert all(queries)
        assert not queries[0] & queries[1] | queries[1] & queries[2] | queries[0] & queries[2]
        assert len(set.union(*sides)) == len(judgements)
        # Validation is the test of the next fold.
        assert keys(task.folds[(number + 1) % 5].test) == sides[1]
        assert not everything & sides[2]
        everything |= sides[2]
    ids, documents = task.queries.ids, task.documents.ids
    assert {(ids[q], documents[d], g) for q, d, g in everything} == set(judgements.rows())


def test_what_was_judged_and_is_not_relevant_is_on_the_side_of_its_query(tmp_path):
    grades = (2, 0.5, 0)
    judgements = [(f"q{q}", f"d{q + 8 * k}", g) for q in range(6) for k, g in enumerate(grades)]
    corpus = write_collection(tmp_path / "corpus", [*judgements, ("q7", "d1", 0)])
    build_task(corpus, tmp_path / "task", relevant="judgement")
    task = open_task(tmp_path / "task")
    wrong = {(f"q{q}", f"d{q + 16}") for q in range(6)}
    for fold in task.folds:
        sides = (fold.train, fold.valid, fold.test)
        for side in sides:
            assert set(side.not_relevant[:, 0]) == set(side.rows[:, 0])
            assert {*side.grade.tolist()} == {0.5, 2}
        rows = np.concatenate([side.not_relevant for side in sides]).tolist()
        assert {(task.queries.ids[q], task.documents.ids[d]) for q, d in rows} == wrong
    assert not len(training_part(task).test.not_relevant)


def test_the_task_is_its_first_fold(task):
    assert len(task.folds) == 5
    assert keys(task.test) == keys(task.folds[0].test)
    assert len({fold.key for fold in task.folds}) == 5


def test_queries_are_read_in_the_views_of_the_documents(task):
    assert task.queries.views is task.documents.views
    assert "q9" not in task.queries.ids.to_list()  # has no judgement
    view = task.documents.views["raw"]
    assert (view.transform(task.queries.titles.to_list()) != task.queries.matrix("raw")).nnz == 0
    assert task.exclude.shape == (len(task.queries), len(task.documents))
    assert task.exclude.nnz == 0


def test_what_is_left_out_is_counted(built):
    said = store.read(built / "task").counts["judged"]
    assert said["queries_without_judgement"] == 1
    assert said["out_of_vocabulary_query_tokens"] == said["queries"]
    assert said["query_tokens"] == 3 * said["queries"]


@pytest.mark.parametrize(("pool", "judged", "linked"), [(None, 200, 50), (0, 200, 200), (7, 7, 7)])
def test_judgements_are_ranked_over_all_documents_and_links_over_a_drawn_pool(
    built, corpus_dir, tmp_path, monkeypatch, pool, judged, linked
):
    monkeypatch.setattr(spec, "DRAWN", 50)
    build_task(built / "corpus", tmp_path / "judged", relevant="judgement", pool=pool)
    build_task(corpus_dir, tmp_path / "linked", pool=pool)
    for name, expected in (("judged", judged), ("linked", linked)):
        task = open_task(tmp_path / name)
        for drawn in (task.pool, task.valid_pool):
            assert (len(task.documents) if drawn is None else len(drawn)) == expected


def test_a_report_names_the_candidates(task):
    fit = MODELS["tfidf"]().fit(task, np.random.default_rng(0))
    reports = [evaluate(fit, fold, tuples=0) for fold in task.folds[:2]]
    assert pooled(reports).candidates == "all 200 documents"
    drawn = dataclasses.replace(task, pool=np.arange(30, dtype=np.int32))
    assert evaluate(fit, drawn, tuples=0).candidates == (
        "30 of 200 documents, the same for every query, and its own relevant ones"
    )


def test_titles_lead_to_their_documents(task):
    titles = task.auxiliary["titles"]
    rows = np.concatenate([titles.train.rows, titles.valid.rows])
    assert (rows[:, 0] == rows[:, 1]).all()
    assert len(rows) == np.count_nonzero(np.diff(titles.queries.matrix("counts").indptr))
    assert len(titles.train) > 10 * len(titles.valid) > 0
    assert titles.documents is task.documents


def test_folds_are_balanced_and_keyed():
    ids = pl.Series([f"query {i}" for i in range(42)])
    folds = folds_of(ids, seed=0)
    assert sorted(np.bincount(folds)) == [8, 8, 8, 9, 9]
    order = np.random.default_rng(0).permutation(42)
    np.testing.assert_array_equal(folds_of(ids[order], seed=0), folds[order])
    assert (folds_of(ids, seed=1) != folds).any()


@pytest.mark.trains
def test_learning_titles_first_helps_where_pairs_are_few(task):
    small = dict(dimensions=8, rates=(0.1,), epoch=500, budget=4000, margin=0.3)
    small |= dict(diagonal="alpha", alpha=3.0)
    model = MODELS["bilinear"](**small, learn_first="titles")
    fit = model.fit(task, np.random.default_rng(0))
    assert fit.facts["learned_first"]["triples"] > 0
    assert fit.arrays["diagonal"] == 3
    without = MODELS["bilinear"](**small).fit(task, np.random.default_rng(0))
    loss = [evaluate(f, task, tuples=0).means["rank_loss"] for f in (fit, without)]
    assert loss[0] < loss[1] + 0.01
    with pytest.raises(BadInput, match=r"'title' is not among .*: titles"):
        MODELS["bilinear"](**small, learn_first="title").fit(task, np.random.default_rng(0))
    with pytest.raises(ValueError, match="needs U and V"):
        MODELS["bilinear"](form="zero", diagonal="learned", learn_first="titles")


def test_a_collection_has_no_links_to_split(built, tmp_path):
    with pytest.raises(BadInput, match="'link'; it has 'judgement'"):
        build_task(built / "corpus", tmp_path / "task")


@pytest.mark.parametrize(
    ("judgements", "said"),
    [([("q0", "nowhere", 1)], "1 judgements have no query or document"),
     ([("q0", "d1", 1), ("q1", "d2", 1)], "2 of its queries have a relevant document")],
)  # fmt: skip
def test_judgements_that_make_no_task(tmp_path, judgements, said):
    corpus = write_collection(tmp_path / "corpus", judgements)
    with pytest.raises(BadInput, match=said):
        build_task(corpus, tmp_path / "task", relevant="judgement")


def test_of_few_given_queries_one_is_for_validation():
    ids = pl.Series([f"q{n}" for n in range(6)])
    sides = ["test", "train", "train", "train", "train", "train"]
    judgements = pl.DataFrame({"source": ids, "side": sides})
    folds = given_folds(ids, judgements, 0, Path("judged"))
    assert np.bincount(folds).tolist() == [1, 1, 4]
