"""Objects that behave: copies of estimators, vectors of texts, related words."""

import copy
import io
import pickle
import re
import subprocess
import sys

import joblib
import numpy as np
import pyarrow as pa
import pytest

import ssi_core as ssi
from tests.corpora import topical

pytestmark = pytest.mark.trains

SMALL = dict(dimensions=8, rate=0.1, epoch=500, budget=1500, margin=0.3)


@pytest.fixture
def docs():
    texts, links = topical()
    titles = [f"All of boats{n}" for n in range(len(texts))]
    return ssi.read({"title": titles, "text": texts}, links=links)


@pytest.fixture
def task(docs):
    return ssi.Task.of(docs, relevant="link")


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def test_a_copy_of_an_estimator_searches_as_it_does(docs, task):
    model = ssi.SSI(**SMALL).fit(task)
    for copied in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), by_joblib):
        other = copied(model)
        assert other.get_params() == model.get_params()
        np.testing.assert_array_equal(other.U_, model.U_)
        assert other.curve_.equals(model.curve_)
        assert other.task_.key == task.key
        hits = other.index(docs).search("boats1 boats2").hits
        assert hits == model.index(docs).search("boats1 boats2").hits
        assert len(hits) == 10
    # What a fit has opened of its task is no part of a copy.
    assert "data" in vars(model.task_)
    assert "data" not in vars(pickle.loads(pickle.dumps(model)).task_)


@pytest.mark.parametrize(
    "ranker", [ssi.SSI(**SMALL), ssi.Ranker("bm25f"), ssi.Ranker("lsi_mixture", dimensions=(8,))]
)
def test_vectors_of_texts_score_as_the_index_does(ranker, docs, task):
    model = ranker.fit(task)
    index = model.index(docs)
    texts = ["boats1 boats2 common1", "stars3"]
    queries, documents = model.encode_queries(texts), model.encode_documents(docs)
    scores = (queries.sparse @ documents.sparse.T).toarray() + queries.dense @ documents.dense.T
    rows = {one: row for row, one in enumerate(docs.frame["id"])}
    for answer, ours in zip(index.search(texts, k=len(docs)), scores, strict=True):
        assert len(answer) > 5
        for hit in answer:
            assert ours[rows[hit.id]] == pytest.approx(hit.score, rel=1e-5, abs=1e-6)
        others = np.delete(ours, [rows[hit.id] for hit in answer])
        assert not others.any()


def test_texts_to_encode_are_texts(task):
    model = ssi.BM25().fit(task)
    with pytest.raises(ssi.BadInput, match=r"texts\[1\]: a int, expected str"):
        model.encode_queries(["boats1", 2])
    encoded = model.encode_queries(pa.array(["boats1"])).sparse
    assert encoded.nnz == 1
    with pytest.raises(ValueError, match="is not fitted"):
        ssi.BM25().encode_documents(["boats1"])


def test_words_that_a_model_relates(docs, task):
    model = ssi.Ranker("lsi", dimensions=(8,)).fit(task)
    near = model.neighbours("boats1", k=5)
    assert [one.word.rstrip("0123456789") for one in near].count("boats") >= 3
    assert near.frame.rows() == [(one.word, one.score) for one in near]
    assert model.index(docs).neighbours("boats1", k=5) == near
    assert near.words[0].word in repr(near)
    assert near.words[0].word in near._repr_html_()
    with pytest.raises(ssi.BadInput, match="not a word that the model knows"):
        model.neighbours("xyzzy")
    with pytest.raises(ssi.BadInput, match="no vectors of words"):
        ssi.BM25().fit(task).neighbours("boats1")


MISSPELT = {
    "Ranker('bm52')": "Did you mean 'bm25'?",
    "Ranker('BM25F')": "Did you mean 'bm25f'?",
    "Ranker('bm25', k=3)": "Did you mean 'k3'?",
    "Reranker('rankrsl')": "Did you mean 'rankrls'?",
    "SSI(dimension=3)": "Did you mean 'dimensions'?",
    "SSI().set_params(dimension=3)": "Did you mean 'dimensions'?",
    "SSI(view='sublinaer').fit(task)": "Did you mean 'sublinear'?",
    "TfIdf(view='sublinaer:5').fit(task)": "Did you mean 'sublinear'?",
    "Task.of(docs, view=['raw'])": "Did you mean 'views'?",
    "Task.of(docs, views=['rw'])": "Did you mean 'raw'?",
    "compare([model], task, measures=['nDCG@5'])": "Did you mean 'ndcg_at_",
    "compare([model], task, measures=['ndgc_at_10'])": "Did you mean 'ndcg_at_10'?",
    "compare([model], task, measure='map')": "Did you mean 'measures'?",
    "compare([model], task, baseline='BM52')": "Did you mean 'BM25'?",
    "fit(task, measure='ndcg')": "Did you mean 'ndcg_at_10'?",
    "read('a.jsonl', lnks=[])": "Did you mean 'links'?",
    "read('a.jsonl', source='trek')": "Did you mean 'trec'?",
    "model.index(docs, storage='float61')": "Did you mean 'float16'?",
}


def test_a_misspelt_name_is_answered_with_the_nearest(docs, task, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "a car"}\n')
    # A copy without guests lacks some names.
    names = {name: getattr(ssi, name) for name in ssi.__all__ if hasattr(ssi, name)}
    names |= {"docs": docs, "task": task, "model": ssi.BM25().fit(task)}
    for typed, hint in MISSPELT.items():
        if re.match(r"\w+", typed)[0] not in names:
            continue
        with pytest.raises((ValueError, TypeError)) as refused:
            eval(typed, names)
        assert hint in str(refused.value), typed
    typed = [sys.executable, "-c", "import ssi_core as ssi; ssi.Rankr"]
    ended = subprocess.run(typed, capture_output=True, text=True, check=False)
    assert "Did you mean: 'Ranker'?" in ended.stderr


def test_measures_are_known_by_their_headings(task):
    model = ssi.BM25().fit(task)
    shown = ssi.compare([model], task, measures=["nDCG@10", "P@10", "MAP", "MRR", "p_at_1"])
    assert shown.measures == ("ndcg_at_10", "p_at_10", "map", "mrr", "p_at_1")
    assert ssi.compare([model], task, measures="MAP").measures == ("map",)
    assert ssi.SSI(auto=True, measure="nDCG@10").ranker().measure == "ndcg_at_10"
    assert ssi.Ranker("bilinear", stop_by="MRR").ranker().stop_by == "mrr"
    assert ssi.fit(task, auto=False, measure="MRR", budget=1000).comparison.measures[0] == "mrr"


def test_documents_are_fitted_on_the_task_that_is_made_of_them(docs):
    model = ssi.TfIdf(view="binary").fit(docs)
    assert "binary" in model.task_.data.documents.views
    assert ssi.BM25().fit(docs).task_.key == ssi.Task.of(docs).key


@pytest.mark.parametrize("given", [(["a car"],), (np.eye(2), np.ones(2)), ("articles.jsonl",)])
def test_what_is_no_task_is_answered_with_how_one_is_made(given):
    with pytest.raises(TypeError, match="expected a Task") as refused:
        ssi.SSI().fit(*given)
    texts, links = topical()
    names = {"ssi": ssi, "texts": texts, "links": links}
    message = str(refused.value)
    exec(re.search(r"them: (task = .*?); or ", message)[1], names)
    assert ssi.BM25().fit(names["task"]).task_ == names["task"]
    with pytest.raises(TypeError, match="expected a Task"):
        ssi.compare([ssi.BM25()], given[0])
    with pytest.raises(TypeError, match="Task already"):
        ssi.Task.of(names["task"])


def test_objects_say_what_they_are(docs, task):
    for shown in (repr(docs), docs._repr_html_()):
        assert "200 documents, 1,350 links; fields: text, title" in shown
        assert all(f"All of boats{n}" in shown for n in range(3))
        assert "All of boats3" not in shown
        assert "Boats: boats" in shown
        assert str(docs.path) in shown
    assert "2 documents; fields: text\n" in repr(ssi.read(["a car", "a road"]))
    for shown in (repr(task), task._repr_html_()):
        assert "relevant: link; queries: documents; split: pairs" in shown
        for side in ("train", "valid", "test"):
            queries, pairs = (f"{task.counts[kind][side]:,}" for kind in ("queries", "pairs"))
            assert re.search(rf"{side}(<[^>]*>|\s)*{queries}(<[^>]*>|\s)*{pairs}\b", shown)
    assert '<td style="text-align:left">split seed</td>' in task._repr_html_()


def test_estimators_show_their_settings_and_then_their_measures(task):
    model = ssi.SSI(**SMALL, lsi_weight=0)
    assert "not fitted: call fit(task)" in model._repr_html_()
    assert '>rate</td><td style="text-align:right">0.1</td>' in model._repr_html_()
    shown = model.fit(task)._repr_html_()
    assert "not fitted" not in shown
    best = model.fitted_.facts["best_at"]
    kept = model.curve_.filter(triples=best)
    assert f'>{best:,}</td><td style="text-align:right">' in shown
    for value in (kept["val/rank_loss"][0], 1 - kept["val/map_error"][0]):
        assert f'<td style="text-align:right">{value:.4f}</td>' in shown
    still = ssi.SSI(**SMALL | {"rate": 1e-9}).fit(task)
    assert still.fitted_.facts["best_at"] == 0
    assert '>on validation</td><td style="text-align:right">0</td>' in still._repr_html_()
    assert ">MAP</th>" in shown
    assert f"fitted on {task.path}" in shown
    triples = model.fitted_.facts["triples"]
    assert f'>triples</td><td style="text-align:right">{triples:,}</td>' in shown
    assert "Training" not in ssi.BM25().fit(task)._repr_html_()


def test_results_show_snippets_with_marks_and_what_strangers_wrote_as_text(task):
    bad = "<script>alert(1)</script>"
    rows = [
        {"title": f"One {bad}", "text": f"{bad} boats1 & more", "url": 'https://a.b/?q="><i>'},
        {"title": "Two", "text": "stars2 boats1", "url": "javascript:alert(1)"},
    ]
    index = ssi.BM25().fit(task).index(rows)
    found = index.search("boats1")
    assert found[0] == next(iter(found)) == found[-2]
    shown = found._repr_html_()
    assert "&lt;/script&gt; <mark>boats1</mark> &amp; more" in shown
    assert '<a href="https://a.b/?q=&quot;&gt;&lt;i&gt;">One &lt;script&gt;' in shown
    assert "<script>" not in shown
    assert 'href="javascript' not in shown
    assert ">Two</td>" in shown
    assert repr(index).startswith("Index of 2 documents under BM25, ")
    assert "Index of 2 documents under BM25" in index._repr_html_()
    assert "One &lt;script&gt;" in index._repr_html_()


def test_an_index_says_how_it_reaches_another_process(docs, task):
    index = ssi.BM25().fit(task).index(docs)
    with pytest.raises(TypeError, match=r"an index is not pickled: it is the directory .+index"):
        pickle.dumps(index)
    assert copy.copy(index).path == index.path


def test_a_wide_comparison_shows_whole_labels(task):
    rankers = {"U'V + I": ssi.BM25().fit(task), "U'V + D": ssi.TfIdf().fit(task)}
    measures = ["map", "mrr", "ndcg_at_10", "p_at_1", "p_at_10", "rank_loss"]
    shown = str(ssi.compare(rankers, task, measures=measures)).splitlines()
    assert max(map(len, shown)) <= 80
    for label in rankers:
        values = " ".join(line.removeprefix(label) for line in shown if line.startswith(label))
        assert values.count("±") == len(measures)
    narrow = str(ssi.compare(rankers, task)).splitlines()
    assert [line[:7] for line in narrow[:3]] == [" " * 7, *rankers]


def test_a_side_and_a_number_of_queries_are_checked(task):
    with pytest.raises(ValueError, match="side='tset', expected one of train, valid, test"):
        task.pairs("tset")
    with pytest.raises(ValueError, match="queries=0: expected at least 1"):
        ssi.compare([ssi.BM25().fit(task)], task, queries=0)


def test_half_a_letter_is_replaced():
    """JSON of JavaScript has them where a text was cut in the middle of an emoji."""
    assert ssi.read(["a \ud800 road", "a car"]).frame["text"].to_list() == [
        "a \ufffd road",
        "a car",
    ]
