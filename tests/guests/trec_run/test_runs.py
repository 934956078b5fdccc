"""Runs of other systems beside rankers, in the forms in which people hold them."""

from pathlib import Path

import ir_measures
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.evaluation.trec import write_trec


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(tmp_path_factory.mktemp("runs")))
        texts = [f"{word} {n} {n % 9}" for n in range(40) for word in ("car", "moon")]
        docs = ssi.read(texts, links=[(n, (n + k) % 80) for n in range(80) for k in (2, 4)])
        yield ssi.Task.of(docs, relevant="link")


@pytest.fixture(scope="module")
def tfidf(task):
    return ssi.TfIdf().fit(task)


@pytest.fixture(scope="module")
def file(task, tfidf, tmp_path_factory):
    """The ranking of TF-IDF as a file of TREC."""
    run, *_ = write_trec(tfidf.fitted_, task.data, tmp_path_factory.mktemp("run"))
    return Path(run)


@pytest.fixture(scope="module")
def scores(file):
    scores = {}
    for line in file.read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        scores.setdefault(query, {})[document] = float(score)
    return scores


def table(scores, *names):
    rows = [(q, d, x) for q, documents in scores.items() for d, x in documents.items()]
    return pl.DataFrame(rows, list(names), orient="row")


def of_ranx(scores):
    ranx = pytest.importorskip("ranx", reason="ranx holds runs: make peers")
    return ranx.Run(scores, name="theirs")


FORMS = {
    "mapping": lambda scores: scores,
    "ir-measures": lambda scores: [
        ir_measures.ScoredDoc(*row) for row in table(scores, "q", "d", "x").rows()
    ],
    "polars": lambda scores: table(scores, "query_id", "doc_id", "score"),
    "pyterrier": lambda scores: table(scores, "qid", "docno", "score").to_pandas(),
    "ranx": of_ranx,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_run_has_the_measures_of_the_system_that_made_it(task, tfidf, scores, form):
    table = ssi.compare(
        {"ours": tfidf, "theirs": FORMS[form](scores)}, task, measures=["map", "mrr"]
    )
    ours, theirs = table.frame.rows(named=True)
    assert theirs["map"] == pytest.approx(ours["map"])
    assert theirs["mrr"] == pytest.approx(ours["mrr"])
    assert theirs["map_p"] == 1


def test_a_run_of_a_sequence_has_its_own_name(task, tfidf, file, scores):
    named = ssi.compare([tfidf, file, str(file), of_ranx(scores)], task, measures="map")
    assert [*named.reports] == ["TfIdf", "run", "run #2", "theirs"]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"no query": {"0": 1.0}}, "the run, line 1: the task has no query 'no%20query'"),
        (3, "3: expected a fitted ranker, or a run: the path of a TREC file"),
        ([("q", "d", 1.0)], r"\('q', 'd', 1.0\): expected a fitted ranker"),
        (
            pl.DataFrame({"qid": [1], "doc": [2]}),
            "a table with columns qid, doc: expected a",
        ),
        ("none.trec", "none.trec"),
    ],
)
def test_what_is_no_run_of_the_task_is_explained(task, tfidf, run, message):
    with pytest.raises(ssi.BadInput, match=message) as refused:
        ssi.compare({"ours": tfidf, "theirs": run}, task)
    assert "/tmp" not in str(refused.value)


def test_a_run_in_memory_without_a_query_is_named_as_such(task, tfidf, scores):
    few = dict(list(scores.items())[1:])
    with pytest.raises(ssi.BadInput, match=r"^the run: 1 of .* have no line, such as '"):
        ssi.compare({"ours": tfidf, "theirs": few}, task)
