"""Features of our own models: grades, candidates and scores are those of the evaluation."""

import numpy as np
import pytest

from ssi_core.evaluation.candidates import candidates
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.guests.reranking.compare import compare
from ssi_core.guests.reranking.face import models_named
from ssi_core.guests.reranking.first_stage import UNLEARNT, features_of, first_stage_folds
from ssi_core.guests.reranking.letor import read_folds, write_folds
from ssi_core.guests.reranking.rankers import reranker_named
from ssi_core.guests.reranking.table import read_table
from ssi_core.models import MODELS
from ssi_core.models.bm25 import Bm25
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import topical, write_collection, write_corpus


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    path = tmp_path_factory.mktemp("judged")
    write_collection(path / "collection")
    build_task(path / "collection", path / "task", relevant="judgement")
    return open_task(path / "task")


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    path = tmp_path_factory.mktemp("linked")
    write_corpus(path / "corpus", *topical())
    build_task(path / "corpus", path / "task")
    return open_task(path / "task")


def fitted(task, *names):
    return {name: MODELS[name]().fit(task, np.random.default_rng([0])) for name in names}


def test_pairs_are_the_first_candidates_with_their_grades(linked):
    models = fitted(linked, "tfidf")
    features = features_of(linked, "test", models, depth=7, queries=30)
    chosen = candidates(linked, "test", 30, 0)
    relevant = {
        (linked.queries.ids[int(q)], linked.documents.ids[int(chosen.documents[c])])
        for q, own in zip(chosen.queries, map(chosen.relevant.of, range(30)), strict=True)
        for c in own
    }
    assert set(features.sizes) == {7}
    assert features.names == ("tfidf", "document_words", "query_words", "first_stage")
    seen = 0
    for query, rows in features.lists():
        for row in range(rows.start, rows.stop):
            pair = (query, features.documents[row])
            assert (features.grade[row] > 0) == (pair in relevant)
            seen += pair in relevant
            # The query itself and what training knows are no candidates.
            assert pair[0] != pair[1]
        # Values are in 0..1 and the order is that of the first model.
        assert np.all(np.diff(features.values[rows, 0]) <= 0)
        assert features.values[rows, 3].tolist() == sorted(features.values[rows, 3], reverse=True)
        assert features.values[rows].min() >= 0
        assert features.values[rows].max() <= 1
    assert seen > 10


def test_all_documents_in_the_first_order_have_the_measures_of_the_evaluation(linked):
    models = fitted(linked, "tfidf")
    report = evaluate(models["tfidf"], linked, queries=40)
    features = features_of(linked, "test", models, depth=10_000, queries=40)
    alone = reranker_named("feature", {"feature": "first_stage"}, "test").fit(features)
    scores = alone.score(features)
    ap = []
    for _, rows in features.lists():
        hits = np.flatnonzero(features.grade[rows][np.argsort(-scores[rows], kind="stable")] > 0)
        ap.append(np.mean(np.arange(1, len(hits) + 1) / (hits + 1)))
    assert np.mean(ap) == pytest.approx(report.means["map"], abs=1e-9)


def test_folds_of_judged_queries_keep_their_sides(judged, tmp_path):
    folds = first_stage_folds(judged, models_named(["bm25", "tfidf"]), depth=10)
    assert len(folds) == len(judged.folds) == 5
    tested = [query for fold in folds for query in fold.test.queries]
    assert len(set(tested)) == len(tested)
    for fold, division in zip(folds, judged.folds, strict=True):
        known = set(judged.queries.ids[division.train.rows[:, 0]])
        assert set(fold.train.queries) <= known
        assert not known & {*fold.valid.queries, *fold.test.queries}
    write_folds(folds, tmp_path / "pairs")
    again = read_folds(tmp_path / "pairs")
    assert [fold.name for fold in again] == [fold.name for fold in folds]
    assert (again[2].test.values == folds[2].test.values).all()
    table = read_table("first-stage").select(("first stage", "RankRLS"))
    result = compare(again, table)
    assert [row["label"] for row in result["rows"]][:2] == ["first stage", "RankRLS"]
    assert "letor_map" in result["rows"][1]["tests"]


def test_bm25_is_the_tuned_one():
    assert models_named(["bm25", "tfidf"]) == (Bm25(tuned=True), TfIdf())


def test_a_model_that_learns_pairs_leaves_its_training_queries_out(linked):
    assert "in_degree" not in UNLEARNT
    (fold,) = first_stage_folds(linked, models_named(["tfidf", "in_degree"]), depth=10, queries=60)
    sides = [set(side.queries) for side in (fold.train, fold.valid, fold.test)]
    assert not sides[0] & sides[1]
    assert not (sides[0] | sides[1]) & sides[2]
    asked = set(linked.queries.ids[candidates(linked, "valid", 60, 0).queries])
    assert sides[0] | sides[1] == asked - sides[2]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["bm52"], "Did you mean 'bm25'"),
        (["bm25", "bm25"], "each once"),
        ([], "expected some names"),
        (["auto"], "it has no view"),
    ],
)
def test_models_that_cannot_be_used_are_named(judged, models, message):
    with pytest.raises(BadInput, match=message):
        first_stage_folds(judged, models_named(models))


def test_views_that_follow_from_the_fields_are_not_to_be_asked_for(tmp_path):
    fields = ["text", "title"]
    write_collection(tmp_path / "collection")
    made = tmp_path / "task"
    build_task(tmp_path / "collection", made, relevant="judgement", fields=fields)
    with pytest.raises(BadInput, match=r"--views \S+$") as refused:
        first_stage_folds(open_task(made), models_named(["auto"]))
    views = str(refused.value).rpartition(" ")[2].split(",")
    assert "counts" in views
    assert not {"fields", "phrases"} & {*views}


def test_the_feature_of_a_ranker_must_be_there(judged):
    features = features_of(judged.folds[0], "train", fitted(judged.folds[0], "bm25"), depth=5)
    with pytest.raises(BadInput, match="Did you mean 'bm25'"):
        reranker_named("feature", {"feature": "bm52"}, "test").fit(features)
