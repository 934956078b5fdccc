"""Tasks whose test are judged lists, of a click log or of judgements alone."""

import numpy as np
import polars as pl
import pytest

from ssi_core import collection, store
from ssi_core.corpus.click_tables import IMPRESSIONS, write_clicks
from ssi_core.corpus.judged.judgements import write_queries, write_relation
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.models import MODELS
from ssi_core.remedies import reading
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import texts_of, write_collection, write_in_parts

DOCUMENTS, QUERIES, JUDGED_FROM = 61, 51, 48
JUDGEMENTS = [("q40", "d48", 2.5), ("q40", "d49", 0.0), ("q41", "d50", 1.0), ("q42", "d51", 0.0)]


def write_log(path, judgements=JUDGEMENTS, unknown=0):
    """A query log: q0 to q39 were clicked in all documents, q40 to q42 were judged."""
    rng = np.random.default_rng(0)
    titles = [f"subject{i % 6} title{i}" for i in range(DOCUMENTS)]
    asked = [f"subject{i % 6} asked{i}" for i in range(QUERIES)]
    clicks = [(f"q{q}", f"d{d}") for q in range(40) for d in rng.choice(DOCUMENTS, 8, False)]
    kind, key = collection.KIND, store.key_of(collection.KIND, {"log": judgements}, {})
    with store.create(path, kind=kind, key=key, configuration={}, parents={}) as building:
        write_in_parts(building.path, "documents", texts_of(titles, titles, "en"))
        ids = [f"q{i}" for i in range(QUERIES)]
        write_queries(building.path, pl.DataFrame({"id": ids, "text": asked}))
        rows = pl.DataFrame(clicks, schema=["query", "document"], orient="row")
        counts = {"shown": None, "clicks": 1, "weight": 1.0, "grade": None}
        write_clicks(building.path, rows.with_columns(**{n: pl.lit(v) for n, v in counts.items()}))
        with collection.PartWriter(building.path / "impressions", IMPRESSIONS):
            pass
        if judgements:
            names = {"query": pl.String, "document": pl.String, "grade": pl.Float32}
            write_relation(building, pl.DataFrame(judgements, schema=names, orient="row"))
        building.counts.update(documents=DOCUMENTS, queries=QUERIES, pairs=len(clicks))
        building.skipped.update(judgement_unknown_document=unknown)
    return path, clicks


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write_log(tmp_path_factory.mktemp("log") / "log")


@pytest.fixture(scope="module")
def built(log, tmp_path_factory):
    out = tmp_path_factory.mktemp("listed") / "task"
    return build_task(log[0], out, relevant="click", ranked="judged")


def ids(task, rows):
    return {(task.queries.ids[q], task.documents.ids[d]) for q, d in rows.tolist()}


def test_judged_queries_are_the_test_and_judged_documents_no_training(log, built):
    task = open_task(built.path)
    judged = {document for _, document, _ in JUDGEMENTS[:3]} | {"d51"}
    kept = {(q, d) for q, d in log[1] if d not in judged}
    assert ids(task, task.train.rows) | ids(task, task.valid.rows) == kept
    assert len(task.train) + len(task.valid) == len(kept)
    assert ids(task, task.test.rows) == {("q40", "d48"), ("q41", "d50")}
    assert task.test.grade.tolist() == [2.5, 1.0]
    assert ids(task, task.test.not_relevant) == {("q40", "d49")}
    assert (task.test.listed, task.valid.listed) == (True, False)
    assert built.skipped["pairs_of_judged_documents"] == len(log[1]) - len(kept)
    assert built.counts["judged"] == {"queries": 2, "judgements": 3, "relevant": 2}


def test_words_of_queries_are_those_of_training(log, built):
    """Documents are ranked, so that all their words are known; queries of the test are not."""
    words = set(open_task(built.path).documents.views["counts"].words)
    assert {"title50", "asked0"} <= words
    assert not {"asked40", "asked41", "asked49"} & words


def test_a_model_is_measured_on_the_lists_alone(built):
    task = open_task(built.path)
    fitted = MODELS["tfidf"]().fit(task, np.random.default_rng(0))
    report = evaluate(fitted, task)
    assert report.per_query["id"].to_list() == ["q40", "q41"]
    assert report.means["ndcg_at_1"] == pytest.approx(report.per_query["ndcg_at_1"].mean())
    assert report.per_query["p_at_1"].to_list()[1] == 1.0, "one document is judged for it"


def test_a_log_without_judgements_cannot_be_tested_by_them(tmp_path):
    path, _ = write_log(tmp_path / "log", None)
    with pytest.raises(BadInput, match="no judgements to test by"):
        build_task(path, relevant="click", ranked="judged")
    other, _ = write_log(tmp_path / "other", None, unknown=1200)
    with (
        pytest.raises(BadInput, match=r"\(1,200 are of .* lacks\)\. .*\(leave out --judged\)"),
        reading("fit", ["--judged"]),
    ):
        build_task(other, relevant="click", ranked="judged")
    nothing, _ = write_log(tmp_path / "nothing", [("q40", "d48", 0.0)])
    with pytest.raises(BadInput, match="no judgement says that a document is relevant"):
        build_task(nothing, tmp_path / "task", relevant="click", ranked="judged")


def test_judgements_alone_rank_their_lists_in_each_fold(tmp_path):
    judged = [(f"q{q}", f"d{q + 8 * k}", g) for q in range(6) for k, g in enumerate((2, 0))]
    corpus = write_collection(tmp_path / "corpus", judged)
    build_task(corpus, tmp_path / "task", relevant="judgement", ranked="judged")
    for fold in open_task(tmp_path / "task").folds:
        assert fold.test.listed
        report = evaluate(MODELS["tfidf"]().fit(fold, np.random.default_rng(0)), fold)
        assert report.slices["candidates"].to_list() == [2.0] * len(report.slices)


@pytest.mark.parametrize(
    "fields", [{"relevant": "link"}, {"relevant": "click", "queries": "goals"}]
)
def test_lists_are_of_clicks_or_judgements(fields):
    with pytest.raises(ValueError, match="ranked='judged': expected"):
        build_task("corpus", ranked="judged", **fields)
