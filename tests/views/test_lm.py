"""A language model as a view, against its formula word by word and against the model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from ssi_core.models.language_model import LanguageModel
from ssi_core.models.tfidf import TfIdf
from ssi_core.scoring.scorer import Scorer
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from ssi_core.views.statistics import Statistics
from ssi_core.views.weighting import Weighting, inverse_document_frequency, weigh_side

counts_of = arrays.arrays(np.float32, (6, 9), elements=st.integers(0, 4).map(float))
NAMES = [("lm", 0.5), ("lm:c=0.2", 0.2)]


def statistics_of(counts):
    """Statistics of documents that have each of the words somewhere."""
    idf = inverse_document_frequency(np.maximum(1, (counts > 0).sum(axis=0)), len(counts))
    return Statistics(idf, len(counts), 1.0, counts.sum(axis=0).astype(np.int64))


def naive(queries, documents, c):
    """Scores pair by pair and word by word, in the loops of the formula."""
    total = max(1.0, documents.sum())
    share = [max(1.0, documents[:, i].sum()) / total for i in range(documents.shape[1])]
    scores = np.zeros((len(queries), len(documents)))
    for q, query in enumerate(queries):
        most = sum(query[i] * np.log(1 + (1 - c) / (c * share[i])) for i in range(len(query)))
        for d, document in enumerate(documents):
            for i in np.flatnonzero((query > 0) & (document > 0)):
                likelihood = (1 - c) * document[i] / document.sum() + c * share[i]
                scores[q, d] += query[i] * np.log(likelihood / (c * share[i])) / most
    return scores


def rows_of(queries, documents, weighting):
    statistics = statistics_of(documents)
    return [
        weigh_side(sparse.csr_array(counts), statistics, weighting, side)
        for counts, side in ((queries, "query"), (documents, "document"))
    ]


@given(counts_of, counts_of, st.sampled_from([0.5, 0.2, 0.9, 0.01]))
def test_products_of_rows_are_the_likelihood_over_its_most(queries, documents, c):
    rows = rows_of(queries, documents, Weighting("lm", c=c))
    scores = (rows[0] @ rows[1].T).toarray()
    np.testing.assert_allclose(scores, naive(queries, documents, c), atol=1e-5)
    assert scores.max() <= 1 + 1e-6
    assert all(row.data.dtype == np.float32 for row in rows)


@given(counts_of, st.sampled_from(["query", "document"]))
def test_a_row_alone_is_bit_by_bit_as_among_others(counts, side):
    statistics, weighting = statistics_of(counts), Weighting("lm")
    together = weigh_side(sparse.csr_array(counts), statistics, weighting, side)
    for i in range(len(counts)):
        alone = weigh_side(sparse.csr_array(counts[i : i + 1]), statistics, weighting, side)
        assert alone.data.tobytes() == together[i : i + 1].data.tobytes()


@pytest.mark.parametrize("name", ["lm:c=0", "lm:c=1.0", "lm:0.5", "lm@30", "lm:k1=1,b=0"])
def test_a_wrong_name_is_told_how_it_is_written(name):
    with pytest.raises(ValueError, match=r"lm:c=0\.2"):
        Weighting.parse(name)


@pytest.fixture(scope="module")
def task(tmp_path_factory, corpus_dir):
    """Links of documents that are queries, in a view that reads them otherwise."""
    out = tmp_path_factory.mktemp("lm") / "task"
    build_task(corpus_dir, out, views=(*(name for name, _ in NAMES), "raw"))
    return open_task(out)


@pytest.mark.parametrize(("name", "c"), NAMES)
def test_the_identity_orders_as_the_language_model_does(task, name, c):
    rng = np.random.default_rng(0)
    ours, theirs = (
        Scorer(one.embed_documents(task.documents)).score(one.embed_queries(task.queries))
        for one in (model.fit(task, rng) for model in (TfIdf(name), LanguageModel((c,))))
    )
    share = task.documents.views[name].statistics.share
    z = task.queries.matrix("counts") @ np.log1p((1 - c) / (c * share))
    np.testing.assert_allclose(ours * z[:, None], theirs, rtol=1e-4)
    order = np.argsort(-ours, axis=1, kind="stable")
    ranked = np.take_along_axis(theirs, order, axis=1)
    assert (np.diff(ranked) <= 1e-5 * ranked[:, :-1]).all()


def test_a_saved_model_reads_raw_texts_as_its_task_did(task, tmp_path, corpus_dir):
    from ssi_core.collection import open_collection
    from ssi_core.models import load_model

    TfIdf("lm").fit(task, np.random.default_rng(0)).save(tmp_path / "model")
    fitted = load_model(tmp_path / "model")
    raw = open_collection(corpus_dir).documents.select("text").collect()["text"].to_list()
    for views, texts in (
        (fitted.query_views, task.queries),
        (fitted.document_views, task.documents),
    ):
        rows = views["lm"].transform(raw)
        assert rows.data.tobytes() == np.asarray(texts.matrix("lm").data).tobytes()


def test_occurrences_of_other_words_are_refused(task, tmp_path):
    from ssi_core.views.text_view import load_view

    task.documents.views["lm"].save(tmp_path)
    np.save(tmp_path / "occurrences.npy", np.ones(3, np.int64))
    with pytest.raises(BadInput, match=r"occurrences.npy: .*shape \(3,\), expected int64"):
        load_view(tmp_path)


def test_a_view_without_occurrences_says_what_to_do(task):
    counted = task.documents.views["raw"].statistics
    bare = Statistics(counted.idf, counted.texts, counted.mean_length)
    with pytest.raises(BadInput, match="which this task or model lacks"):
        weigh_side(task.documents.matrix("counts"), bare, Weighting("lm"), "document")
