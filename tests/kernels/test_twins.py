"""Kernels against the sentence that defines them, on whole numbers: not a bit may differ."""

from collections import Counter, namedtuple

import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels.ranking.best import add_likelihoods, add_pairs
from ssi_core.kernels.ranking.candidates import best_by_words
from ssi_core.kernels.ranking.hamming import class_counts, scan, scan_words
from ssi_core.kernels.ranking.scores import (
    add_frequent,
    add_sparse,
    products_with_half,
    rank_alike,
    widen_rows,
)
from ssi_core.kernels.sparse import (
    add_gram,
    add_transposed,
    csr,
    multiply,
)
from ssi_core.kernels.text.keywords import draw_entries
from ssi_core.kernels.training.pair_forms import first_bucket, hashed_rows, loads
from ssi_core.kernels.training.random import below, next_uint64
from ssi_core.kernels.training.sweep import draw_negative, draw_shown, draw_weighted
from ssi_core.kernels.vectors import converts_float16

SEEDS = range(4)


def whole(rng, rows, columns, share=0.4):
    """A matrix of small whole numbers, with rows and columns that are empty."""
    values = rng.integers(-3, 4, (rows, columns)) * (rng.random((rows, columns)) < share)
    values[rows // 2] = 0
    values[:, columns // 2] = 0
    return values.astype(np.float32)


# --- random numbers ---


def test_random_numbers_are_those_of_the_published_generator():
    """The first outputs of splitmix64 from 0, as its authors' program prints them."""
    state = np.zeros(1, np.uint64)
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert [int(next_uint64(state)) for _ in range(4)] == published
    state[:] = 0
    assert [int(below(state, 1000)) for _ in range(4)] == [
        (n >> 32) * 1000 >> 32 for n in published
    ]


class Splitmix:
    """The same in Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return ((z ^ z >> 31) >> 32) * n >> 32


@pytest.mark.parametrize("words", [1, 2, 3, 9])
def test_entries_are_drawn_as_by_a_shuffle_of_the_allowed_ones(words):
    rng = np.random.default_rng(words)
    indptr = np.array([0, 5, 5, 6, 14])
    allowed = rng.random(14) < 0.7
    rows = np.array([3, 0, 1, 3, 2, 0], np.int32)
    states = rng.integers(0, 2**63, len(rows)).astype(np.uint64)
    ends, entries = np.full(len(rows) + 1, -9, np.int64), np.full(len(rows) * words, -9, np.int64)
    draw_entries(indptr, allowed, rows, words, states, ends, entries)
    assert ends[0] == 0
    for draw, (row, seed) in enumerate(zip(rows, states.tolist(), strict=True)):
        places = [n for n in range(indptr[row], indptr[row + 1]) if allowed[n]]
        random, taken = Splitmix(seed), []
        while places and len(taken) < words:
            n = random.below(len(places))
            taken.append(places[n])
            places[n] = places[0]
            places.pop(0)
        assert entries[ends[draw] : ends[draw + 1]].tolist() == sorted(taken)


Drawn = namedtuple("Drawn", "barred_indptr barred_indices candidates shown_indptr shown")


def test_negatives_are_drawn_until_one_is_not_barred():
    # Query 0 bars 1 and 3 and was shown nothing; query 1 bars all but 4, and was shown 2, 2, 0.
    barred = np.array([1, 3, 0, 1, 2, 3], np.int32)
    places, shown = np.array([3, 3, 4, 0], np.int32), np.array([2, 2, 0], np.int32)
    data = Drawn(np.array([0, 2, 6]), barred, places, np.array([0, 0, 3]), shown)
    bars = [{1, 3}, {0, 1, 2, 3}]
    for query in (0, 1):
        for draw, of in ((draw_negative, range(5)), (draw_weighted, places.tolist())):
            state, twin = np.array([7 + query], np.uint64), Splitmix(7 + query)
            for _ in range(20):
                expected = of[twin.below(len(of))]
                while expected in bars[query]:
                    expected = of[twin.below(len(of))]
                assert draw(data, 5, query, state) == expected
    state, twin = np.array([5], np.uint64), Splitmix(5)
    assert [int(draw_shown(data, 5, 1, state)) for _ in range(9)] == [
        shown[twin.below(3)] for _ in range(9)
    ]
    state, same = np.array([5], np.uint64), np.array([5], np.uint64)
    assert draw_shown(data, 5, 0, state) == draw_negative(data, 5, 0, same)
    one = data._replace(shown_indptr=np.array([0, 1, 3]))
    assert draw_shown(one, 5, 0, state) == 2
    # Nothing is left: no more than some draws are made.
    assert draw_negative(data, 4, 1, state) == -1
    none = data._replace(candidates=places[:2])
    assert draw_weighted(none, 5, 0, state) == -1


# --- codes ---


@pytest.mark.parametrize("n", [0, 1, 511, 513, 1100])
def test_codes_within_a_radius_are_found_in_order(n):
    rng = np.random.default_rng(n)
    codes = rng.integers(0, 2**12, (n, 2)).astype(np.uint64)
    query = np.array([0b1010, 1 << 11], np.uint64)
    far = [sum(int(a ^ b).bit_count() for a, b in zip(row, query, strict=True)) for row in codes]
    one = [int(row[0] ^ query[0]).bit_count() for row in codes]
    for radius in (0, 3, 7, 24):
        rows = np.full(n, -1, np.int32)
        expected = [row for row in range(n) if far[row] <= radius]
        assert rows[: scan(codes, query, radius, rows)].tolist() == expected
        expected = [row for row in range(n) if one[row] <= radius]
        first = np.ascontiguousarray(codes[:, 0])
        assert rows[: scan_words(first, query[0], radius, rows)].tolist() == expected
    labels, counts = (np.arange(n) % 3).astype(np.int32), np.full((2, 3), 9, np.int64)
    class_counts(codes, labels, np.array([query, query ^ query]), 7, counts)
    assert counts[0].tolist() == [sum(far[row] <= 7 for row in range(k, n, 3)) for k in range(3)]


# --- scores ---


def both(rng):
    queries, documents = whole(rng, 5, 9), whole(rng, 7, 9)
    rows = csr(sparse.csr_array(queries)), csr(sparse.csr_array(documents))
    return queries, documents, *rows, csr(sparse.csc_array(documents))


@pytest.mark.parametrize("seed", SEEDS)
def test_products_by_an_inverted_index_and_by_pairs_are_the_product(seed):
    rng = np.random.default_rng(seed)
    queries, documents, asked, held, postings = both(rng)
    begin = rng.integers(0, 9, (5, 7)).astype(np.float32)
    expected = begin + queries @ documents.T * np.array([0, 1, 1, 1, 0])[:, None]
    for frequent in (0, 3, 9):
        columns = np.zeros((2, 9, 4), np.float32)  # two blocks, of which the second is not full
        columns[0], columns[1, :, :3] = documents[:4].T, documents[4:].T
        scores = begin.copy()
        add_frequent(asked, columns[:, :frequent], 1, 4, scores)
        add_sparse(asked, postings, frequent, 1, 4, scores)
        np.testing.assert_array_equal(scores, expected)
    pairs = rng.integers(0, [[5], [7]], (2, 30)).astype(np.int32)
    pairs[0].sort()
    scratch, values = np.zeros(9, np.float32), np.ones(30, np.float32)
    add_pairs(asked, held, *pairs, 2, 29, scratch, values)
    products = (queries @ documents.T)[tuple(pairs)]
    products[[0, 1, 29]] = 0
    np.testing.assert_array_equal(values, 1 + products)
    assert not scratch.any()
    queries[0, 0] = 2
    asked = csr(sparse.csr_array(queries))
    for first, last in ((0, 3), (3, 7)):  # a run that ends with the first query leaves nothing
        alone = np.arange(7, dtype=np.int32)
        add_pairs(asked, held, 0 * alone, alone, first, last, scratch, values)
        assert not scratch.any()


@pytest.mark.parametrize("seed", SEEDS)
def test_likelihoods_are_logarithms_of_words_and_topics(seed):
    rng = np.random.default_rng(seed)
    queries, documents, asked, _, _ = both(rng)
    documents = np.abs(documents)
    held = csr(sparse.csr_array(documents))
    topics, dense = (rng.integers(0, 3, (n, 2)).astype(np.float32) for n in (9, 7))
    pairs = rng.integers(0, [[5], [7]], (2, 20)).astype(np.int32)
    scratch, scores = np.zeros(9, np.float32), np.ones(20, np.float32)
    add_likelihoods(asked, held, topics, dense, *pairs, 1, 19, scratch, scores)
    inner = np.log(1 + documents[pairs[1]] + dense[pairs[1]] @ topics.T)
    expected = 1 + (queries[pairs[0]] * inner).sum(axis=1)
    np.testing.assert_allclose(scores[1:19], expected[1:19], rtol=1e-5, atol=1e-5)
    assert (scores[[0, 19]] == 1).all()
    assert not scratch.any()


@pytest.mark.parametrize("seed", range(8))
def test_the_best_by_words_are_those_of_a_sort_beside_the_given_ones(seed):
    rng = np.random.default_rng(seed)
    queries, documents, asked, _, postings = both(rng)
    near, more = 3, 1 + seed % 3
    given = np.array([rng.permutation([*range(7), -1])[:near] for _ in range(5)], np.int32)
    rows, scores = (np.full((5, near + more), 77, kind) for kind in (np.int32, np.float32))
    rows[:, :near], scores[:, :near] = given, 10
    scratch = np.full(7, 9, np.float32), np.zeros(7, np.int32), np.full(7, 9, np.int32)
    best_by_words(asked, postings, near, rows, scores, *scratch)
    products, met = (
        queries @ documents.T,
        (queries != 0).astype(int) @ (documents != 0).T.astype(int),
    )
    np.testing.assert_array_equal(rows[:, :near], given)
    for query in range(5):
        added = [10 + products[query, one] if one >= 0 else 10 for one in given[query]]
        assert scores[query, :near].tolist() == added
        values = sorted(-products[query, one] for one in range(7) if met[query, one])
        best = -np.array(values[:more])
        found = rows[query, near:]
        kept = found >= 0
        np.testing.assert_array_equal(scores[query, near:][kept], products[query, found[kept]])
        assert (scores[query, near:][~kept] == -np.inf).all()
        assert not {*found[kept].tolist()} & {*given[query].tolist()}
        # What is missing of the best are those that are given.
        left = Counter(best.tolist()) - Counter(scores[query, near:][kept].tolist())
        assert not left - Counter(products[query, given[query][given[query] >= 0]].tolist())


@pytest.mark.parametrize("seed", range(6))
def test_ranks_among_the_candidates_of_a_group_are_counted_one_by_one(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (3, 12)).astype(np.float32)
    scores[rng.random((3, 12)) < 0.2] = -np.inf
    group = rng.integers(0, 3, 12)
    members = np.argsort(group, kind="stable").astype(np.int32)
    bounds = np.searchsorted(group[members], np.arange(4))
    lists = [np.flatnonzero((rng.random(12) < 0.3) & (row > -np.inf)) for row in scores]
    start = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    relevant = np.concatenate(lists).astype(np.int32)
    lost, alike = np.full(len(relevant), -9.0), np.full(len(relevant), -9, np.int64)
    rank_alike(scores, group, bounds, members, start, relevant, lost, alike)
    place = 0
    for row, own in zip(scores, lists, strict=True):
        for one in own:
            others = [c for c in range(12)
                      if group[c] == group[one] and c not in own and row[c] > -np.inf]  # fmt: skip
            higher, equal = (sum(test(row[c]) for c in others)
                             for test in (row[one].__lt__, row[one].__eq__))  # fmt: skip
            assert (lost[place], alike[place]) == (higher + equal / 2, len(others))
            place += 1


@pytest.mark.skipif(not converts_float16(), reason="no float16 on this processor")
def test_rows_of_float16_are_widened_and_multiplied():
    half = np.arange(-12, 12).reshape(4, 6).astype(np.float16) / 4
    rows, query = half.view(np.uint16), np.arange(6, dtype=np.float32)
    wide, out = np.full((4, 5), 9, np.float32), np.full(4, 9, np.float32)
    widen_rows(rows, wide)
    np.testing.assert_array_equal(wide, half[:, :5].astype(np.float32))
    products_with_half(rows, query, out)
    np.testing.assert_array_equal(out, half.astype(np.float32) @ query)


# --- products of matrices in float64 ---


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_are_multiplied_from_both_sides(seed):
    rng = np.random.default_rng(seed)
    matrix = whole(rng, 6, 9)

    def block(rows):
        made = np.zeros((rows, 16))
        made[:] = rng.integers(-3, 4, (rows, 16))
        return made

    rows, right, left = csr(sparse.csr_array(matrix)), block(9), block(6)
    out = np.full((6, 16), 9.0)
    multiply(rows, right, out)
    np.testing.assert_array_equal(out, matrix @ right)
    out = np.ones((9, 16))
    add_transposed(rows, left, out)
    np.testing.assert_array_equal(out, 1 + matrix.T @ left)
    out, scratch = np.ones((9, 16)), np.empty(16)
    add_gram(rows, right, out, scratch)
    np.testing.assert_array_equal(out, 1 + matrix.T @ (matrix @ right))


# --- hashed pairs of words ---


@pytest.mark.parametrize(("words", "buckets"), [(5, 3), (5, 5), (5, 64), (7, 6), (64, 5)])
def test_pairs_of_words_fill_runs_of_buckets(words, buckets):
    rng = np.random.default_rng(words)
    W, queries = rng.integers(-4, 5, buckets).astype(np.float32), whole(rng, 4, 6)
    first = [int(first_bucket(s, buckets)) for s in range(6)]
    places = np.array([[(first[s] + t) % buckets for t in range(words)] for s in range(6)])
    out = np.ones((4, words), np.float32)
    hashed_rows(W, csr(sparse.csr_array(queries)), out)
    np.testing.assert_array_equal(out, 1 + queries @ W[places])
    counts = loads(6, words, buckets)
    np.testing.assert_array_equal(counts, np.bincount(places.ravel(), minlength=buckets))
