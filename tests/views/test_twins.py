"""Views against the sentence that defines them, word by word."""

import hashlib
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from ssi_core.arrays import load_csr
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.dice import Matches
from ssi_core.views.hashing import Hashing, feature_map, parse_view
from ssi_core.views.lexicon import Vocabulary, choose_words, to_columns
from ssi_core.views.statistics import Statistics, share_of
from ssi_core.views.weighting import (
    Weighting,
    heaviest,
    inverse_document_frequency,
    most_of,
    weigh,
    weigh_side,
)

TEXTS = [[0, 0, 0, 1, 2], [1, 1, 3], [], [2, 4, 4, 4, 4], [0, 1, 2, 3, 4], [0]]
TERMS = {"raw": lambda n: n, "sublinear": lambda n: 1 + math.log(n), "binary": lambda n: 1}


def counts_of(texts, width=5):
    rows = np.zeros((len(texts), width), np.float32)
    for row, words in enumerate(texts):
        np.add.at(rows[row], words, 1)
    return sparse.csr_array(rows)


def weighed(text, idf, kind, cut=None, words=None):
    """``tf * ln(n / df)`` of the heaviest words, of unit length, then of the first columns."""
    weights = {w: TERMS[kind](n) * float(idf[w]) for w, n in Counter(text).items() if idf[w] > 0}
    kept = sorted(sorted(weights), key=lambda w: -weights[w])[:cut]
    norm = math.sqrt(sum(weights[w] ** 2 for w in kept))
    return [weights[w] / norm if w in kept else 0 for w in range(len(idf))][:words]


@pytest.mark.parametrize("kind", TERMS)
@pytest.mark.parametrize(("cut", "words"), [(None, None), (2, None), (1, 3), (None, 2), (9, 9)])
def test_rows_are_weighed_cut_and_of_unit_length(kind, cut, words):
    counts = counts_of(TEXTS)
    idf = inverse_document_frequency(np.array([3, 3, 3, 2, 6]), 6)
    assert idf.tolist() == [np.float32(math.log(6 / df)) for df in (3, 3, 3, 2, 6)]
    rows = weigh(counts, idf, Weighting(kind, cut, words))
    expected = [weighed(text, idf, kind, cut, words) for text in TEXTS]
    np.testing.assert_allclose(rows.toarray(), np.array(expected), rtol=1e-6)
    assert rows.dtype == np.float32
    assert rows.shape[1] == Weighting(kind, cut, words).width(5)


def test_of_equal_weights_the_first_are_the_heaviest():
    values = np.array([1.0, 2, 1, 1, 5, 5, 5, 3])
    kept = heaviest(np.array([0, 4, 4, 7, 8]), values, 2)
    assert np.flatnonzero(kept).tolist() == [0, 1, 4, 5, 7]


def test_a_word_of_no_document_has_no_idf():
    with pytest.raises(ValueError, match="expected >= 1 everywhere, a word came with 0"):
        inverse_document_frequency(np.array([1, 0]), 2)
    assert len(inverse_document_frequency(np.empty(0, np.int64), 2)) == 0


def statistics():
    df = np.array([3, 3, 3, 2, 2])
    occurrences = np.array([5, 4, 3, 2, 0])
    return df, Statistics(inverse_document_frequency(df, 6), 6, 2.5, occurrences)


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.5, 0.0), (2.0, 1.0)])
def test_bm25_is_the_product_of_both_sides(k1, b):
    df, known = statistics()
    weighting = Weighting("bm25", k1=k1, b=b)
    queries = weigh_side(counts_of([[0, 3], [4, 4]]), known, weighting, "query").toarray()
    documents = weigh_side(counts_of(TEXTS), known, weighting, "document").toarray()
    idf = np.log(1 + (6 - df + 0.5) / (df + 0.5))
    np.testing.assert_allclose(known.bm25_idf, idf, rtol=1e-6)
    for row, text in ((row, text) for row, text in enumerate(TEXTS) if text):
        floor = k1 * (1 - b + b * len(text) / 2.5)
        parts = [idf[w] * text.count(w) * (k1 + 1) / (text.count(w) + floor) for w in range(5)]
        most = (k1 + 1) * (idf[0] + idf[3])
        assert queries[0] @ documents[row] == pytest.approx((parts[0] + parts[3]) / most, rel=1e-5)
    assert queries[1][4] == pytest.approx(1 / ((k1 + 1) * idf[4]), rel=1e-5)
    np.testing.assert_allclose(most_of(known, weighting), (k1 + 1) * idf, rtol=1e-6)


@pytest.mark.parametrize("c", [0.5, 0.2])
def test_a_language_model_is_the_logarithm_of_the_ratio_to_the_collection(c):
    _, known = statistics()
    weighting = Weighting("lm", c=c)
    queries = weigh_side(counts_of([[0, 3, 3]]), known, weighting, "query").toarray()
    documents = weigh_side(counts_of(TEXTS), known, weighting, "document").toarray()
    share = np.array([5, 4, 3, 2, 1]) / 14
    np.testing.assert_allclose(share_of(known.occurrences), share)
    for row, text in enumerate(TEXTS):
        if text:
            ratio = [(1 - c) / c * text.count(w) / len(text) / share[w] for w in (0, 3)]
            expected = math.log(1 + ratio[0]) + 2 * math.log(1 + ratio[1])
            most = np.log(1 + (1 - c) / c / share)
            found = queries[0] @ documents[row] * (most[0] + 2 * most[3])
            assert found == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(most_of(known, weighting), np.log(1 + (1 - c) / c / share))


def test_hashed_items_have_a_bin_for_each_match():
    bins = np.array([[2, 0, -1], [-1, -1, -1], [1, 2, 0]], np.int32)
    phi = feature_map(Matches(bins, np.zeros((3, 3), np.float32)), 4)
    one = 1 / math.sqrt(3)
    expected = np.array([[one, 0, one, 0], [0, 0, 0, 0], [one, one, one, 0]], np.float32)
    np.testing.assert_array_equal(phi.toarray(), expected)
    assert phi.has_sorted_indices


@pytest.mark.parametrize(
    "name",
    ["cfh:k=5,words=30000,ngrams=2+1", "cfh:k=05,words=3,ngrams=1", "cfh:k=5,words=3,ngrams=1,"
     "weighting=raw", "cfh:k=5,words=3,ngrams=1,weighting=counts", "cfh:k=5,words=3,ngrams=1+1",
     "cfh:k=5,words=3,ngrams=1,weighting=raw@9", "cfh:k=0,words=3,ngrams=1"],
)  # fmt: skip
def test_names_of_hashed_views_are_written_in_one_way(name):
    with pytest.raises(ValueError, match="expected 'cfh:k=5,words=30000,ngrams=1'"):
        Hashing.parse(name)


@pytest.mark.parametrize(
    "name", ["cfh:k=5,words=3,ngrams=1+3,weighting=binary:7", "raw:7@9", "bm25", "lm:c=0.25", "lm",
             "bm25:k1=0.9,b=1", "sublinear", "counts"],
)  # fmt: skip
def test_names_of_views_are_read_and_written_again(name):
    assert str(parse_view(name)) == name


@pytest.mark.parametrize(
    "name", ["raw:0", "raw@0", "bm25:k1=1,b=1.5", "lm:c=1", "lm:c=0.0", "bm26"]
)
def test_names_of_no_view_are_refused(name):
    with pytest.raises(ValueError, match="Expected WEIGHTING"):
        parse_view(name)


class Known:
    """A lexicon of some words."""

    def __init__(self, *words):
        self._words = words

    def words(self, numbers):
        return [self._words[number] for number in numbers]

    def __len__(self):
        return len(self._words)


@pytest.mark.parametrize("most", [None, 1, 2, 3, 4, 9])
def test_the_most_frequent_words_are_columns_equal_ones_by_the_alphabet(most):
    lexicon, frequency = Known("d", "b", "c", "a", "e"), np.array([2, 2, 7, 2, 0])
    words, ids = choose_words(lexicon, frequency, most)
    expected = ["c", "a", "b", "d"][:most]
    assert list(words) == expected
    places = {word: place for place, word in enumerate(expected)}
    assert ids.tolist() == [places.get(word, -1) for word in "dbcae"]


def test_a_vocabulary_is_known_by_its_words_in_their_order():
    one, other = (Vocabulary(pl.Series(words)) for words in (["a", "b", "c"], ["a", "c", "b"]))
    assert one == Vocabulary(pl.Series(["a", "b", "c"])) != other
    assert one.digest() != other.digest()
    assert hash(one) != hash(other)
    assert (one[1], list(one[1:]), len(one)) == ("b", ["b", "c"], 3)
    assert one.digest() == hashlib.sha256(b"a\nb\nc").hexdigest()[:16]


@pytest.mark.parametrize("rows", [1, 3])
def test_bags_are_rows_of_counts_without_columns_outside(rows):
    indptr = np.array([0, 4, 4, 6])[: rows + 1]
    columns = np.array([3, -1, 0, 5, 1, 4], np.int32)[: indptr[-1]]
    counts = np.array([2, 9, 1, 8, 3, 7], np.int32)[: indptr[-1]]
    made = to_columns(indptr, columns, counts, 4)
    expected = np.array([[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 0, 0]], np.float32)[:rows]
    np.testing.assert_array_equal(made.toarray(), expected)
    assert made.indices.tolist() == [0, 3, 1][: made.nnz]


def test_a_matrix_that_is_written_in_blocks_is_the_whole(tmp_path):
    matrix = counts_of(TEXTS)
    with CsrWriter(tmp_path / "out", 5) as writer:
        for begin, end in ((0, 2), (2, 3), (3, 3), (3, 6)):
            block = matrix[begin:end]
            writer.append(block.indptr, block.indices, block.data)
    assert writer.nonzeros == matrix.nnz
    read = load_csr(tmp_path / "out")
    assert (read != matrix).nnz == 0
    assert (read.shape, read.indptr.dtype) == ((6, 5), np.int32)
