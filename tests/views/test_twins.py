"""Views against the sentence that defines them, word by word."""

import hashlib
import math

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from ssi_core.arrays import load_csr
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.dice import Matches
from ssi_core.views.hashing import Hashing, feature_map, parse_view
from ssi_core.views.lexicon import Vocabulary, choose_words, to_columns
from ssi_core.views.statistics import Statistics
from ssi_core.views.weighting import (
    heaviest,
    inverse_document_frequency,
)

TEXTS = [[0, 0, 0, 1, 2], [1, 1, 3], [], [2, 4, 4, 4, 4], [0, 1, 2, 3, 4], [0]]


def counts_of(texts, width=5):
    rows = np.zeros((len(texts), width), np.float32)
    for row, words in enumerate(texts):
        np.add.at(rows[row], words, 1)
    return sparse.csr_array(rows)


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
