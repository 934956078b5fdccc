"""Objects that behave: copies of estimators, vectors of texts, related words."""

import copy
import io
import pickle

import joblib
import numpy as np
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
