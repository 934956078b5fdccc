"""A run of TREC as a row: alone, in a mixture, in a fusion; and the texts it is made of."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.trec import write_trec
from ssi_core.guests.fusion.fusion import Fusion
from ssi_core.guests.trec_run.texts import measured, write_texts
from ssi_core.guests.trec_run.trec_run import TrecRun
from ssi_core.models import load_model
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.tfidf import TfIdf
from ssi_core.scoring.scorer import Scorer
from ssi_core.serving.index import build_index
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput


@pytest.fixture(scope="module")
def runs(task, tmp_path_factory):
    """Rankings of TF-IDF, as another system would write them: of the test, and of validation."""
    place = tmp_path_factory.mktemp("runs")
    fitted = fit(TfIdf("sublinear"), task)
    files = [write_trec(fitted, task, place / side, side=side)[0] for side in ("test", "valid")]
    # A query has lines in both: what is a candidate on one side only is added to the other.
    lines = {tuple(line.split()[:3:2]): line for file in files for line in lines_of(file)}
    (place / "run.trec").write_text("\n".join(lines.values()))
    return str(place / "run.trec")


def fit(model, task):
    return model.fit(task, np.random.default_rng(0))


def lines_of(path):
    return Path(path).read_text().splitlines()


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return TrecRun((str(path),))


def test_a_run_of_ours_has_the_measures_of_its_model(task, runs):
    ours = evaluate(fit(TfIdf("sublinear"), task), task, tuples=0)
    theirs = evaluate(fit(TrecRun((runs,)), task), task, tuples=0)
    for measure in ("map", "mrr", "ndcg_at_10", "p_at_10", "popular_at_10"):
        assert theirs.means[measure] == pytest.approx(ours.means[measure])


def test_what_is_not_listed_stands_after_all_others(task, tmp_path):
    a, b, c = (task.documents.ids[row] for row in (3, 5, 9))
    run = write(
        tmp_path / "run", f"{a} Q0 {b} 1 -7.5 x", "", f"  {a}\tQ0 {c} 9 -2.5 x", f"{b} 0 {a} 1 4 x"
    )
    fitted = fit(run, task)
    queries = task.queries.take([3, 5])
    scores = Scorer(fitted.embed_documents(task.documents)).score(fitted.embed_queries(queries))
    # Two documents over a span of 5 are 2.5 apart on average; the others are so far below.
    assert scores[0, [5, 9]].tolist() == [2.5, 7.5]
    assert scores[1, 3] > 0
    assert np.count_nonzero(scores) == 3
    assert fitted.facts | {"digests": 0} == {"lines": 3, "queries": 2, "documents": 3, "digests": 0}


def test_room_is_kept_for_lines_of_sixteen_bytes(task, tmp_path):
    shortest = write(tmp_path / "run", *["q1 Q0 d1 1 1 me"] * 20)
    assert shortest.vector_shape(task) == (0, 20)


def test_several_files_are_one_and_may_be_packed(task, runs, tmp_path):
    lines = lines_of(runs)
    (tmp_path / "first").write_text("\n".join(lines[::2]))
    with gzip.open(tmp_path / "second.gz", "wt") as file:
        file.write("\n".join(lines[1::2]))
    parts = fit(TrecRun((str(tmp_path / "first"), str(tmp_path / "second.gz"))), task)
    whole = fit(TrecRun((runs,)), task)
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, parts.arrays[name])


def test_is_a_part_of_a_mixture_and_of_a_fusion(task, runs, tmp_path):
    parts = ({"model": "bm25"}, {"model": "trec_run", "runs": (runs,)})
    mixture = fit(Mixture(parts), task)
    assert mixture.facts["beta"] > 0
    plain = ({"model": "bm25"}, {"model": "tfidf", "view": "sublinear"})
    both = [evaluate(fit(Fusion(one), task), task, tuples=0).means["mrr"] for one in (parts, plain)]
    assert both[0] == pytest.approx(both[1])
    mixture.save(tmp_path)
    again = load_model(tmp_path)
    ours, loaded = (evaluate(one, task, tuples=0).means["map"] for one in (mixture, again))
    assert ours == loaded
    with pytest.raises(BadInput, match="'mixture': no index: a run of TREC has"):
        build_index(again, task.documents, tmp_path / "index", parents={})


def test_queries_without_a_line_are_counted(task, runs, tmp_path):
    first = lines_of(runs)[0].split()[0]
    kept = [line for line in lines_of(runs) if line.split()[0] != first]
    fitted = fit(write(tmp_path / "run", *kept), task)
    with pytest.raises(
        BadInput, match=rf"run: 1 of \d+ queries .* such as '{first}'.*--with-texts"
    ):
        evaluate(fitted, task)
    fitted.embed_queries(task.queries.take(np.zeros(0, np.int64)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{a} Q0 {b} 1 high x", "line 2: .* a score that is a number"),
        ("{a} Q0 {b} 1 nan x", "line 2: .* a score that is a number"),
        ("{a} Q0 {b} 1 0.5", "line 2: .*expected 'QUERY Q0 DOCUMENT RANK SCORE NAME'"),
        ("{a} Q0 nobody 1 0.5 x", "line 2: the task has no document 'nobody'.*--with-texts"),
        ("nobody Q0 {b} 1 0.5 x", "line 2: the task has no query 'nobody'"),
        ("{a} Q0 {a} 1 0.5 x", "line 2: query '{a}' has document '{a}' already"),
    ],
)
def test_a_wrong_line_is_named(task, tmp_path, line, message):
    names = {"a": task.documents.ids[0], "b": task.documents.ids[1]}
    run = write(tmp_path / "run", f"{names['a']} Q0 {names['a']} 1 2.0 x", line.format(**names))
    with pytest.raises(BadInput, match=message.format(**names)):
        fit(run, task)


def test_no_file_and_an_empty_one_are_named(task, tmp_path):
    with pytest.raises(BadInput, match=r"nowhere: .*Name a run of TREC"):
        fit(TrecRun((str(tmp_path / "nowhere"),)), task)
    with pytest.raises(BadInput, match="run: it has no line"):
        fit(write(tmp_path / "run", "", " "), task)


def test_cold_documents_may_be_listed(tmp_path, corpus_dir):
    build_task(corpus_dir, tmp_path / "task", views=("sublinear",), cold=0.2)
    task = open_task(tmp_path / "task")
    run, _ = write_trec(fit(TfIdf("sublinear"), task), task, tmp_path)
    fitted = fit(TrecRun((str(run),)), task)
    ours = evaluate(fit(TfIdf("sublinear"), task), task, tuples=0)
    assert evaluate(fitted, task, tuples=0).means["map"] == pytest.approx(ours.means["map"])


def test_texts_have_the_ids_of_a_run(task, tmp_path):
    corpus, queries = (
        [json.loads(line) for line in lines_of(path)] for path in write_texts(task, tmp_path)
    )
    assert [line["_id"] for line in corpus] == task.documents.ids.to_list()
    assert [line["title"] for line in corpus] == task.documents.titles.to_list()
    asked = task.queries.ids[measured(task).tolist()].to_list()
    assert [line["_id"] for line in queries] == asked
    text = {line["_id"]: line["text"] for line in corpus}
    assert all(line["text"] == text[line["_id"]] for line in queries)
    view = task.documents.views["raw"]
    rows = view.transform([line["text"] for line in corpus[:5]])
    assert (rows != task.documents.matrix("raw")[:5]).nnz == 0


def test_texts_tell_no_title_that_is_asked_for(tmp_path, corpus_dir):
    build_task(corpus_dir, tmp_path / "task", relevant="self", views=("bm25",))
    task = open_task(tmp_path / "task")
    corpus, queries = (
        [json.loads(line) for line in lines_of(path)]
        for path in write_texts(task, tmp_path / "out")
    )
    assert {line["title"] for line in corpus} == {""}
    assert {line["text"] for line in queries} <= set(task.queries.titles.to_list())
    run = tmp_path / "run"
    lines = [f"{q['_id']} Q0 {corpus[n]['_id']} 1 1 x" for n, q in enumerate(queries)]
    assert len(fit(write(run, *lines), task).arrays["queries"]) == len(queries)


def test_drawn_words_have_no_id_of_their_own(tmp_path, corpus_dir):
    build_task(corpus_dir, tmp_path / "task", queries="words:3", views=("bm25",))
    task = open_task(tmp_path / "task")
    with pytest.raises(BadInput, match="several have one id"):
        write_texts(task, tmp_path)
    with pytest.raises(BadInput, match="several queries have one id"):
        fit(write(tmp_path / "run", "a Q0 b 1 1 x"), task)
