from fractions import Fraction

import numpy as np
import pytest

from ssi_core.kernels.text.dice import best_matches, count_documents, frequent_ends, gather_postings

ROWS = [[0, 1, 4], [1, 2], [], [0, 1, 2, 3, 4], [2, 4], [4], [0, 3, 4]]
INDPTR = np.cumsum([0, *map(len, ROWS)])
INDICES = np.array([column for row in ROWS for column in row], np.int32)
WORDS = 5


def documents_of(word, chosen):
    return [row for row, words in enumerate(ROWS) if chosen[row] and word in words]


@pytest.fixture(params=[[1] * 7, [1, 0, 1, 1, 0, 1, 1]], ids=["all", "some"])
def chosen(request):
    return np.array(request.param, np.bool_)


@pytest.mark.parametrize("frequent", [0, 2, 3, 5])
def test_frequent_words_are_the_beginning_of_a_row(frequent):
    ends = np.empty(len(ROWS), np.int64)
    frequent_ends(INDPTR, INDICES, frequent, ends)
    assert (ends - INDPTR[:-1]).tolist() == [sum(w < frequent for w in row) for row in ROWS]


def test_documents_are_counted_and_gathered_by_word(chosen):
    counts = np.zeros(WORDS, np.int64)
    count_documents(INDPTR, INDICES, chosen, counts)
    lists = [documents_of(word, chosen) for word in range(WORDS)]
    assert counts.tolist() == [len(one) for one in lists]
    first, last = 1, 4
    starts = np.concatenate([[0], np.cumsum(counts[first:last])])
    places, postings = starts[:-1].copy(), np.empty(starts[-1], np.int32)
    gather_postings(INDPTR, INDICES, chosen, first, last, places, postings)
    assert places.tolist() == starts[1:].tolist()
    assert postings.tolist() == [row for one in lists[first:last] for row in one]


@pytest.mark.parametrize("own", [0, 3], ids=["words themselves", "other items"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_best_are_those_of_a_sort(chosen, own, k):
    frequent = 3
    lists = [documents_of(word, chosen) for word in range(WORDS)]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    postings = np.array([row for one in lists for row in one], np.int32)
    frequency = np.array([len(one) for one in lists[:frequent]], np.int64)
    ends = np.empty(len(ROWS), np.int64)
    frequent_ends(INDPTR, INDICES, frequent, ends)
    scratch = np.zeros(frequent, np.int32), np.empty(frequent + 1, np.int32)
    bins, values = np.empty((WORDS, k), np.int32), np.empty((WORDS, k), np.float32)
    best_matches(
        *(starts, postings, 0, WORDS, INDPTR[:-1], ends, INDICES, frequency, own),
        *(*scratch, bins, values),
    )
    assert not scratch[0].any()
    for i, one in enumerate(lists):
        ranked = []
        for j in range(frequent):
            both = len(set(one) & set(lists[j]))
            if both:
                dice = Fraction(2 * both, len(one) + len(lists[j]))
                ranked.append((own + i != j, -dice, j))
        expected = sorted(ranked)[:k]
        assert bins[i].tolist() == [j for _, _, j in expected] + [-1] * (k - len(expected))
        told = [float(-d) for _, d, _ in expected] + [0] * (k - len(expected))
        assert values[i].tolist() == pytest.approx(told)
