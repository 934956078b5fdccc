"""BM25 as a view, against its formula word by word."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from ssi_core.models.tfidf import TfIdf
from ssi_core.scoring.scorer import Scorer
from ssi_core.tasks.spec import spec_of
from ssi_core.tasks.task import build_task, open_task
from ssi_core.views.statistics import Statistics
from ssi_core.views.weighting import Weighting, inverse_document_frequency, weigh_side

counts_of = arrays.arrays(np.float32, (6, 9), elements=st.integers(0, 4).map(float))


def statistics_of(counts):
    """Statistics of documents that have each of the words somewhere."""
    df = np.maximum(1, (counts > 0).sum(axis=0))
    idf = inverse_document_frequency(df, len(counts))
    return Statistics(idf, len(counts), max(1.0, counts.sum() / len(counts)))


def naive(queries, documents, k1, b):
    """Scores pair by pair and word by word, in the loops of the formula."""
    n, mean = len(documents), max(1.0, documents.sum() / len(documents))
    df = np.maximum(1, (documents > 0).sum(axis=0))
    idf = [np.log(1 + (n - f + 0.5) / (f + 0.5)) for f in df]
    scores = np.zeros((len(queries), n))
    for q, query in enumerate(queries):
        most = sum((k1 + 1) * idf[i] * query[i] for i in range(len(query)))
        for d, document in enumerate(documents):
            floor = k1 * (1 - b + b * document.sum() / mean)
            for i in np.flatnonzero((query > 0) & (document > 0)):
                saturated = (k1 + 1) * document[i] / (floor + document[i])
                scores[q, d] += query[i] * idf[i] * saturated / most
    return scores


@given(counts_of, counts_of, st.sampled_from([(1.2, 0.75), (0.9, 0.4), (0.0, 0.0), (3.0, 1.0)]))
def test_products_of_rows_are_bm25_over_its_most(queries, documents, numbers):
    k1, b = numbers
    statistics = statistics_of(documents)
    weighting = Weighting("bm25", k1=k1, b=b)
    rows = [
        weigh_side(sparse.csr_array(counts), statistics, weighting, side)
        for counts, side in ((queries, "query"), (documents, "document"))
    ]
    scores = (rows[0] @ rows[1].T).toarray()
    np.testing.assert_allclose(scores, naive(queries, documents, k1, b), atol=1e-5)
    assert scores.max() <= 1 + 1e-6
    assert all(row.data.dtype == np.float32 for row in rows)


@given(counts_of, st.sampled_from(["query", "document"]))
def test_a_row_alone_is_bit_by_bit_as_among_others(counts, side):
    statistics, weighting = statistics_of(counts), Weighting("bm25")
    together = weigh_side(sparse.csr_array(counts), statistics, weighting, side)
    for i in range(len(counts)):
        alone = weigh_side(sparse.csr_array(counts[i : i + 1]), statistics, weighting, side)
        assert alone.data.tobytes() == together[i : i + 1].data.tobytes()


@pytest.mark.parametrize(
    ("name", "k1", "b"), [("bm25", 1.2, 0.75), ("bm25:k1=0.9,b=0.4", 0.9, 0.4)]
)
def test_a_name_reads_as_it_is_written(name, k1, b):
    weighting = Weighting.parse(name)
    assert (str(weighting), weighting.k1, weighting.b) == (name, k1, b)


@pytest.mark.parametrize("name", ["bm25:k1=0.9", "bm25:k1=0.9,b=1.5", "bm25:10", "bm25@30"])
def test_a_wrong_name_is_told_how_it_is_written(name):
    with pytest.raises(ValueError, match=r"bm25:k1=0\.9,b=0\.4"):
        Weighting.parse(name)


@pytest.fixture(scope="module")
def task(tmp_path_factory, corpus_dir):
    """Links of documents that are queries, in a view that reads them otherwise."""
    out = tmp_path_factory.mktemp("bm25") / "task"
    build_task(corpus_dir, out, views=("bm25", "bm25:k1=0.9,b=0.4", "raw"))
    return open_task(out)


def test_documents_are_read_twice_where_they_are_queries(task):
    assert task.same
    assert task.queries is not task.documents
    assert task.queries.matrix("raw") is task.documents.matrix("raw")
    for name in ("bm25", "bm25:k1=0.9,b=0.4"):
        weighting = task.documents.views[name].weighting
        queries, documents = (texts.matrix("counts").toarray() for texts in (task.queries,) * 2)
        mean = task.documents.views[name].statistics.mean_length
        assert mean == pytest.approx(documents.sum() / len(documents))
        product = (task.queries.matrix(name) @ task.documents.matrix(name).T).toarray()
        expected = naive(queries[:5], documents, weighting.k1, weighting.b)
        np.testing.assert_allclose(product[:5], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "k1", "b"), [("bm25", 1.2, 0.75), ("bm25:k1=0.9,b=0.4", 0.9, 0.4)]
)
def test_the_identity_ranks_as_atire_of_bm25s(task, name, k1, b):
    """Lucene's idf, on the same words; a query has one scale, ``z(q)``, that orders nothing."""
    bm25s = pytest.importorskip("bm25s", reason="bm25s has the method of ATIRE")
    documents = task.documents.matrix("counts").astype(int)
    words = [
        np.repeat(documents.indices[row], documents.data[row]).astype(str).tolist()
        for row in map(slice, documents.indptr[:-1], documents.indptr[1:])
    ]
    theirs = bm25s.BM25(k1, b, method="atire", idf_method="lucene", dtype="float64")
    theirs.index(words, show_progress=False)
    expected = np.stack([theirs.get_scores(query) for query in words])

    fitted = TfIdf(name).fit(task, np.random.default_rng(0))
    scores = Scorer(fitted.embed_documents(task.documents)).score(
        fitted.embed_queries(task.queries)
    )
    idf = task.documents.views[name].statistics.bm25_idf
    z = (k1 + 1) * (task.queries.matrix("counts") @ idf)
    np.testing.assert_allclose(scores * z[:, None], expected, rtol=1e-5)
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(expected, order, axis=1)
    assert (np.diff(ranked) <= 1e-5 * ranked[:, :-1]).all()


def test_queries_of_their_own_are_read_as_queries(tmp_path, corpus_dir):
    build_task(corpus_dir, tmp_path / "task", queries="words:3", views=("bm25",))
    task = open_task(tmp_path / "task")
    rows = task.queries.matrix("bm25")
    idf = task.documents.views["bm25"].statistics.bm25_idf
    full = [i for i in range(len(task.queries)) if rows.indptr[i + 1] > rows.indptr[i]]
    for i in full[:20]:
        row = slice(rows.indptr[i], rows.indptr[i + 1])
        assert 2.2 * (rows.data[row] * idf[rows.indices[row]]).sum() == pytest.approx(1, rel=1e-5)


def test_links_beside_read_documents_as_queries(tmp_path, corpus_dir):
    build_task(
        corpus_dir, tmp_path / "task", relevant="self", views=("bm25", "raw"), auxiliary=("link",)
    )
    other = open_task(tmp_path / "task").auxiliary["link"]
    assert other.same
    queries, documents = other.queries.matrix("bm25"), other.documents.matrix("bm25")
    assert queries.shape == documents.shape
    assert (queries != documents).nnz
    assert other.queries.matrix("raw") is other.documents.matrix("raw")


def test_translations_have_no_view_of_two_sides():
    with pytest.raises(ValueError, match="bm25"):
        spec_of(relevant="translation", views=("bm25",))
