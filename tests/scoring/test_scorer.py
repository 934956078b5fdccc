import numpy as np
import pytest
from scipy import sparse

from ssi_core.scoring.scorer import Scorer, score_pairs
from ssi_core.scoring.vectors import Inner, Likelihood, Several, refuse_nan
from ssi_core.types import BadInput
from tests.evaluation.toy import csr


def random_vectors(rng, rows, parts, width=30, dimensions=5):
    values = rng.standard_normal((rows, width)) * (rng.random((rows, width)) < 0.3)
    values[rows // 2] = 0
    dense = rng.standard_normal((rows, dimensions)).astype(np.float32)
    return Inner(csr(values) if "sparse" in parts else None, dense if "dense" in parts else None)


def by_numpy(queries, documents):
    scores = np.zeros((len(queries), len(documents)))
    if queries.sparse is not None:
        scores += queries.sparse.toarray().astype(float) @ documents.sparse.toarray().T
    if queries.dense is not None:
        scores += queries.dense.astype(float) @ documents.dense.T
    return scores


@pytest.mark.parametrize("parts", [("sparse",), ("dense",), ("sparse", "dense")])
@pytest.mark.parametrize("threads", [1, 3])
def test_scores_are_the_sum_of_inner_products(parts, threads):
    rng = np.random.default_rng(0)
    queries, documents = (random_vectors(rng, rows, parts) for rows in (17, 23))
    expected = by_numpy(queries, documents)
    scores = Scorer(documents, threads=threads).score(queries)
    assert scores.dtype == np.float32
    assert scores.flags.c_contiguous
    np.testing.assert_allclose(scores, expected, atol=1e-5)

    rows = np.argwhere(np.ones((17, 23))).astype(np.int32)
    rng.shuffle(rows)
    pairs = score_pairs(queries, documents, rows, threads=threads)
    np.testing.assert_allclose(pairs, expected[tuple(rows.T)], atol=1e-5)


@pytest.mark.parametrize("in_order", [True, False])
def test_many_queries_score_as_each_alone(in_order):
    """Of many, words that most documents have are added at all documents: to the same bits."""
    rng = np.random.default_rng(8)
    shares = 0.9 * 0.85 ** np.arange(40)
    documents, queries = (
        Inner(csr(rng.standard_normal((rows, 40)) * (rng.random((rows, 40)) < shares)))
        for rows in (1100, 70)
    )
    if not in_order:  # a row may have its words in any order
        halves = queries.sparse[:, 20:], queries.sparse[:, :20]
        words = sparse.hstack(halves, format="csr")
        words.indices = (words.indices + 20) % 40
        queries = Inner(sparse.csr_array((words.data, words.indices, words.indptr), words.shape))
        assert not queries.sparse.has_sorted_indices
    scorer = Scorer(documents)
    scores = scorer.score(queries)
    for row in range(70):
        assert np.array_equal(scorer.score(queries.take(slice(row, row + 1)))[0], scores[row])
    assert 20 < scorer._ready.frequent.shape[1] < 40


def test_pairs_without_rows_are_row_by_row():
    rng = np.random.default_rng(1)
    queries, documents = (random_vectors(rng, 9, ("sparse", "dense")) for _ in range(2))
    expected = np.diag(by_numpy(queries, documents))
    np.testing.assert_allclose(score_pairs(queries, documents), expected, atol=1e-5)
    with pytest.raises(ValueError, match="8 rows, expected 9"):
        score_pairs(queries, documents.take(slice(0, 8)))


@pytest.mark.parametrize("parts", [("sparse",), ("dense",), ("sparse", "dense")])
@pytest.mark.parametrize("asked", [3, 40])
def test_the_best_are_those_of_all_scores(parts, asked):
    rng = np.random.default_rng(6)
    queries, documents = (random_vectors(rng, rows, parts) for rows in (asked, 60))
    hidden = np.array([4, 7, 31])
    scores = by_numpy(queries, documents)
    scores[:, hidden] = -np.inf
    rows, best = Scorer(documents).best(queries, 5, hidden)
    for row, values, expected in zip(rows, best, scores, strict=True):
        found = (expected > -np.inf) & (("dense" in parts) | (expected != 0))
        order = [d for d in np.argsort(-expected, kind="stable") if found[d]][:5]
        assert row.tolist() == order + [-1] * (5 - len(order))
        np.testing.assert_allclose(values[: len(order)], expected[order], atol=1e-5)


def test_equal_documents_score_equal_and_inputs_stay():
    rng = np.random.default_rng(2)
    documents = random_vectors(rng, 6, ("sparse",)).take(np.array([0, 1, 0, 2, 0]))
    queries = random_vectors(rng, 5, ("sparse",))
    before = documents.sparse.data.copy()
    scores = Scorer(documents).score(queries)
    assert (scores[:, 0] == scores[:, 2]).all()
    assert (scores[:, 0] == scores[:, 4]).all()
    assert (documents.sparse.data == before).all()


def test_nothing_to_score_is_no_error():
    rng = np.random.default_rng(3)
    vectors = random_vectors(rng, 4, ("sparse", "dense"))
    nothing = vectors.take(slice(0, 0))
    assert Scorer(vectors).score(nothing).shape == (0, 4)
    assert Scorer(nothing).score(vectors).shape == (4, 0)
    assert score_pairs(vectors, vectors, np.zeros((0, 2), np.int32)).shape == (0,)


def test_vectors_that_do_not_fit_are_refused():
    rng = np.random.default_rng(4)
    vectors = random_vectors(rng, 4, ("sparse", "dense"))
    narrow = random_vectors(rng, 4, ("sparse", "dense"), dimensions=3)
    with pytest.raises(ValueError, match="dense width 3, expected 5"):
        Scorer(vectors).score(narrow)
    with pytest.raises(ValueError, match="dense width None, expected 5"):
        Scorer(vectors).score(Inner(vectors.sparse, None))
    with pytest.raises(ValueError, match="expected one number of rows"):
        Scorer(Inner(vectors.sparse, vectors.dense[:2]))
    with pytest.raises(ValueError, match="expected one number of rows"):
        Scorer(Inner(None, None))


@pytest.mark.parametrize("part", ["sparse", "dense", "topics"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_vectors_with_a_nan_are_refused_also_in_one_part_of_a_sum(part, value):
    rng = np.random.default_rng(5)
    good, bad = (random_vectors(rng, 4, ("sparse", "dense")) for _ in range(2))
    bad = Likelihood(bad.sparse, bad.dense, np.ones((30, 5), np.float32))
    array = bad.sparse.data if part == "sparse" else getattr(bad, part)
    assert refuse_nan(bad, "queries") is bad
    assert refuse_nan(Several(parts=(good, bad)), "queries").parts == (good, bad)
    array.flat[-1] = value
    for vectors in (bad, Several(parts=(good, bad))):
        with pytest.raises(BadInput, match="queries: the model gives vectors that hold NaN"):
            refuse_nan(vectors, "queries")


def test_likelihoods_take_documents_with_words_of_their_width_or_without_words():
    rng = np.random.default_rng(6)
    words, weights = random_vectors(rng, 4, ("sparse", "dense")), np.ones((30, 5), np.float32)
    queries = Likelihood(words.sparse, None, weights)
    for fits in (words, Inner(None, words.dense)):
        parts = queries.parts(fits), (words.sparse, weights, words.dense)
        assert all(one is other for one, other in zip(*parts, strict=True))
    wider = random_vectors(rng, 4, ("sparse", "dense"), width=31)
    narrow = random_vectors(rng, 4, ("dense",), dimensions=4)
    for documents, why in (
        (Inner(wider.sparse, words.dense), "documents: sparse width 31, expected 30"),
        (narrow, r"topics: shape \(30, 5\), expected \(30, 4\)"),
        (Inner(words.sparse, None), "documents dense rows"),
    ):
        with pytest.raises(ValueError, match=why):
            queries.check(documents)
    for lacking in (Likelihood(None, None, weights), Likelihood(words.sparse, None, None)):
        with pytest.raises(ValueError, match="queries need sparse rows and topics"):
            lacking.check(words)


def test_inner_products_take_documents_of_their_widths():
    rng = np.random.default_rng(7)
    queries = random_vectors(rng, 4, ("sparse", "dense"))
    queries.check(random_vectors(rng, 9, ("sparse", "dense")))
    for sizes, why in (
        ({"width": 31}, "queries: sparse width 30, expected 31"),
        ({"dimensions": 4}, "queries: dense width 5, expected 4"),
    ):
        with pytest.raises(ValueError, match=why):
            queries.check(random_vectors(rng, 9, ("sparse", "dense"), **sizes))


@pytest.mark.parametrize("parts", [("sparse", "dense"), ("dense",)])
def test_pairs_of_likelihoods_are_those_of_the_definition(parts):
    rng = np.random.default_rng(8)
    asked, found = (random_vectors(rng, n, ("sparse", "dense")) for n in (4, 6))
    counts, words = (np.abs(one.sparse) for one in (asked, found))
    topics, theta = np.abs(rng.normal(size=(30, 5))).astype(np.float32), np.abs(found.dense)
    documents = Inner(words if "sparse" in parts else None, theta)
    pairs = rng.integers(0, [4, 6], (40, 2)).astype(np.int32)
    own = words.toarray() if "sparse" in parts else 0
    whole = counts.toarray() @ np.log1p(own + theta @ topics.T).T
    scores = score_pairs(Likelihood(counts, None, topics), documents, pairs)
    np.testing.assert_allclose(scores, whole[tuple(pairs.T)], rtol=1e-4, atol=1e-5)
