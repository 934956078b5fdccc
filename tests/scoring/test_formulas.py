"""Scores of queries that several models see, or whose words are made as they are read."""

from dataclasses import replace

import numpy as np
import pytest

from ssi_core.scoring import inner, likelihood
from ssi_core.scoring.decreasing import strictly_decreasing
from ssi_core.scoring.rank_sum import ranks, reciprocal_ranks
from ssi_core.scoring.scorer import Scorer, score_pairs
from ssi_core.scoring.two_stage import below, columns, features, reorder, starts
from ssi_core.scoring.vectors import Inner, Likelihood, RankSum, Several, TwoStage, first_part
from tests.evaluation.toy import csr
from tests.scoring.test_scorer import random_vectors

STEP = 2.0**-20
LOWEST = -np.finfo(np.float32).max


@pytest.mark.parametrize(
    ("scores", "distinct"),
    [
        ([], []),
        ([3, 2, -1], [3, 2, -1]),
        ([4, 4, 4, 1], [4, 4 - 4 * STEP, 4 - 8 * STEP, 1]),
        ([-1, -4, -4], [-1, -4, -4 - 4 * STEP]),
        ([0, 0, 0], [0, -STEP, -2 * STEP]),
        ([2.0**-99] * 2, [2.0**-99, 2.0**-99 - 2.0**-119]),
        ([2.0**-110] * 2, [2.0**-110, 2.0**-110 - 2.0**-120]),
        ([1, 1, LOWEST], [0, -STEP, -2 * STEP]),
    ],
)
def test_equal_scores_fall_by_a_millionth_of_the_largest(scores, distinct):
    found = strictly_decreasing(np.array(scores, np.float32))
    assert found.dtype == np.float32
    assert found.tolist() == [float(np.float32(one)) for one in distinct]


def test_equal_scores_share_the_mean_of_their_ranks():
    assert ranks(np.array([1, 5, 5, 0, 5, 1], np.float32)).tolist() == [4.5, 2, 2, 6, 2, 4.5]


def test_ranks_are_those_among_the_candidates_of_each_query():
    scores = [np.array([[3, 2, 1], [1, 2, 3]]), np.array([[0, 5, 0], [1, 1, 0]])]
    some = np.array([[True, False, True], [True, True, True]])
    found = reciprocal_ranks(scores, 10.0, some)
    assert found.dtype == np.float32
    expected = [
        [1 / 11 + 1 / 11.5, 0, 1 / 12 + 1 / 11.5],
        [1 / 13 + 1 / 11.5, 1 / 12 + 1 / 11.5, 1 / 11 + 1 / 13],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="no model to take ranks of"):
        reciprocal_ranks([], 10.0)


def models(rng, rows):
    return tuple(random_vectors(rng, rows, parts) for parts in (("sparse", "dense"), ("dense",)))


def test_a_sum_of_ranks_asks_every_model():
    rng = np.random.default_rng(0)
    queries, documents = models(rng, 4), models(rng, 9)
    asked, some = RankSum(parts=queries, constant=3.0), rng.random((4, 9)) < 0.6
    scores = [Scorer(d).score(q) for q, d in zip(queries, documents, strict=True)]
    for candidates in (None, some):
        expected = reciprocal_ranks(scores, 3.0, candidates)
        found = Scorer(Several(parts=documents)).score(asked, candidates)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("queries_at_once", [1, 3, 100])
def test_ranks_of_pairs_and_of_the_best_are_those_of_all_scores(queries_at_once, monkeypatch):
    monkeypatch.setattr(inner, "ROWS_BYTES", queries_at_once * 12 * 9)
    rng = np.random.default_rng(5)
    queries, documents = RankSum(parts=models(rng, 7)), Several(parts=models(rng, 9))
    scores = Scorer(documents).score(queries)
    pairs = np.argwhere(rng.random((7, 9)) < 0.5)
    rng.shuffle(pairs)
    np.testing.assert_array_equal(score_pairs(queries, documents, pairs), scores[tuple(pairs.T)])
    for hidden in (None, np.array([0, 4])):
        left = np.setdiff1d(np.arange(9), [] if hidden is None else hidden)
        rows, best = Scorer(documents).best(queries, 3, hidden)
        for query in range(7):
            falls = sorted(left, key=lambda d, q=query: -scores[q, d])[:3]
            assert rows[query].tolist() == falls
            assert best[query].tolist() == scores[query, falls].tolist()


@pytest.mark.parametrize(
    ("rows", "threads", "parts"),
    [(0, 1, [(0, 0)]), (5, 1, [(0, 5)]), (0, 2, [(0, 0)]), (1, 2, [(0, 1)]),
     (3, 2, [(0, 1), (1, 2), (2, 3)]), (32, 2, [(n, n + 2) for n in range(0, 32, 2)])],
)  # fmt: skip
def test_rows_are_divided_among_threads(rows, threads, parts):
    done = []
    inner.in_parts(lambda first, last: done.append((first, last)), rows, threads)
    assert sorted(done) == parts


def test_features_are_scaled_over_the_first_documents_of_each_query():
    scores = np.array([[4, 1], [2, 3], [0, 2], [7, 7]], float)
    found = features(scores, np.array([0, 3, 4]))
    # 1 / rank is 1, 1/2 and 1/3; what one query has of one value only becomes 0.
    expected = [[1, 0, 1], [0.5, 1, 0.25], [0, 0.5, 0], [0, 0, 0]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert features(np.empty((0, 2)), np.array([0])).shape == (0, 3)


def test_what_second_stages_are_made_of():
    assert starts([2, 0, 3]).tolist() == [0, 2, 2, 5]
    order, falls = reorder(np.array([1.0, 2.0, 1.0, 2.0]))
    assert order.tolist() == [1, 3, 0, 2]
    assert falls.tolist() == [2, 2 - 2 * STEP, 1, 1 - 2 * STEP]
    assert [below(np.array(scores)) for scores in ([], [3, 2.5], [0, -0.5])] == [0, 2, -1]
    nothing = columns([np.array([np.nan, np.inf, -np.inf, 1], np.float32)])
    assert nothing[:, 0].tolist() == [LOWEST, -LOWEST, LOWEST, 1]


class Second:
    """A ranker by the second model alone."""

    depth = 3
    names = ("one", "other", "1 / rank")

    def __call__(self, values):
        assert values.min() == 0
        assert values.max() == 1
        return values[:, 1]


def test_a_second_stage_orders_the_first_documents_and_the_others_stay_behind_them():
    rng = np.random.default_rng(1)
    queries, documents = models(rng, 4), models(rng, 9)
    queries[0].sparse.data[:] = 0
    queries[0].dense[2] = 0  # nothing is known of this query
    asked = TwoStage(parts=queries, ranker=Second())
    some = rng.random((4, 9)) < 0.6
    some[3] = [True] + [False] * 8
    one, other = (Scorer(d).score(q) for q, d in zip(queries, documents, strict=True))
    for candidates in (None, some):
        found = Scorer(Several(parts=documents)).score(asked, candidates)
        assert found.dtype == np.float32
        for query in range(4):
            open_to = np.ones(9, bool) if candidates is None else candidates[query]
            by_first = np.argsort(-one[query], kind="stable")
            first = [d for d in by_first if open_to[d]][:3] if query != 2 else []
            # One document alone has no feature: it scores 0.
            falls = sorted(first, key=lambda d: -other[query, d])
            assert np.argsort(-found[query], kind="stable")[: len(first)].tolist() == falls
            behind = np.setdiff1d(np.arange(9), first)
            level = np.unique(-one[query], return_inverse=True)[1]
            lowest = np.floor(found[query, first].min()) if first else 0
            np.testing.assert_array_equal(found[query, behind], lowest - 1 - level[behind])


def test_the_first_stage_ranks_by_the_first_part():
    one, other = models(np.random.default_rng(2), 3)
    assert first_part(Several(parts=(one, other))) is one
    assert first_part(other) is other


class Doubling:
    """A projection that writes each word into two columns."""

    width = 60

    def __call__(self, rows):
        return csr(np.hstack([rows.toarray(), 2 * rows.toarray()]))


@pytest.mark.parametrize("queries_at_once", [2, 100])
@pytest.mark.parametrize("parts", [("sparse",), ("sparse", "dense")])
def test_words_that_are_made_as_they_are_read_score_as_others(parts, queries_at_once, monkeypatch):
    monkeypatch.setattr(inner, "ROWS_BYTES", queries_at_once * 12 * Doubling.width)
    rng = np.random.default_rng(3)
    queries = random_vectors(rng, 5, parts)
    documents = random_vectors(rng, 9, parts, width=60)
    made = replace(queries, projection=Doubling())
    written = replace(queries, sparse=made.projection(queries.sparse))
    assert [len(made.sparse[part].toarray()) for part in inner._few(made, 0, 5)] == (
        [2, 2, 1] if queries_at_once == 2 else [5]
    )
    scorer, pairs = Scorer(documents), np.argwhere(np.ones((5, 9)))
    rng.shuffle(pairs)
    np.testing.assert_allclose(scorer.score(made), scorer.score(written), atol=1e-5)
    expected = score_pairs(written, documents, pairs)
    np.testing.assert_allclose(score_pairs(made, documents, pairs), expected, atol=1e-5)
    (rows, best), (same, scores) = scorer.best(made, 4), scorer.best(written, 4)
    np.testing.assert_array_equal(rows, same)
    np.testing.assert_allclose(best, scores, atol=1e-5)
    found = []
    for asked in (made, written):
        rows, scores = np.full((5, 5), -1, np.int32), np.zeros((5, 5), np.float32)
        rows[:, 0], scores[:, 0] = 7, 0.5
        scorer.best_by_words(asked, 1, rows, scores)
        found.append((rows, scores))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-5)


@pytest.mark.parametrize("words_at_once", [1, 3, 100])
def test_likelihoods_add_up_a_few_words_at_a_time(words_at_once, monkeypatch):
    monkeypatch.setattr(likelihood, "_BYTES", words_at_once * 4 * 6)
    rng = np.random.default_rng(8)
    asked, found = (random_vectors(rng, n, ("sparse", "dense")) for n in (4, 6))
    counts, words = (np.abs(one.sparse) for one in (asked, found))
    topics, theta = np.abs(rng.normal(size=(30, 5))).astype(np.float32), np.abs(found.dense)
    sizes = [len(some) for some in likelihood._few(np.arange(7), 6)]
    assert sizes == {1: [1] * 7, 3: [3, 3, 1], 100: [7]}[words_at_once]
    whole = counts.toarray() @ np.log1p(words.toarray() + theta @ topics.T).T
    scores = Scorer(Inner(words, theta)).score(Likelihood(counts, None, topics))
    np.testing.assert_allclose(scores, whole, rtol=1e-5)


def test_several_take_documents_of_as_many_models():
    one, other = models(np.random.default_rng(4), 3)
    for documents, expected in ((one, "none"), (Several(parts=(one,)), "1")):
        with pytest.raises(ValueError, match=f"queries: 2 parts, expected {expected}, the doc"):
            Several(parts=(one, other)).check(documents)
