from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from ssi_core.kernels.text import ngrams as kernels

TEXTS = [[0, 1, 2, 0, 1], [], [1], [0, 1, -1, 2, 0], [2, 0, 1, 0, 1]]
NUMBERS = np.array([number for text in TEXTS for number in text], np.int32)
ENDS = np.cumsum([len(text) for text in TEXTS])
TOP = np.uint64((1 << 64) - 1)


@pytest.fixture(autouse=True)
def _hashes_wrap_around():
    with np.errstate(over="ignore"):
        yield


def key(a, b):
    return a << 32 | b


def pairs_of(text):
    return [key(a, b) for a, b in pairwise(text) if a >= 0 and b >= 0]


def table(slots):
    return np.zeros(slots, np.uint64), np.zeros(slots, np.int32), np.zeros(slots, np.int32)


def entries(keys, frequency, _):
    used = frequency > 0
    return dict(zip(keys[used].tolist(), frequency[used].tolist(), strict=True))


def counted_documents(counted):
    found = Counter()
    for text, one in zip(TEXTS, counted, strict=True):
        found.update(set(pairs_of(text)) if one else ())
    return dict(found)


def test_pairs_are_counted_once_a_document_from_a_table_that_grows():
    counted = np.array([1, 1, 1, 0, 1], np.bool_)
    slots = table(4)
    state = np.zeros(3, np.int64)
    grown = 0
    while not kernels.count_pairs(NUMBERS, ENDS, counted, 7, *slots, np.uint64(0), TOP, state):
        old, slots = slots, table(2 * len(slots[0]))
        state[kernels.KNOWN] = kernels.refill_counts(*old, TOP, *slots)
        grown += 1
    assert grown > 0
    assert entries(*slots) == counted_documents(counted)
    assert state[kernels.KNOWN] == len(counted_documents(counted))


def test_two_ranges_of_hashes_hold_each_pair_once():
    counted = np.ones(5, np.bool_)
    middle = np.uint64(1 << 63)
    halves = []
    for low, high in ((np.uint64(0), middle), (middle + np.uint64(1), TOP)):
        slots = table(16)
        assert kernels.count_pairs(
            NUMBERS, ENDS, counted, 0, *slots, low, high, np.zeros(3, np.int64)
        )
        halves.append(entries(*slots))
    assert not halves[0].keys() & halves[1].keys()
    assert halves[0] | halves[1] == counted_documents(counted)
    whole, narrow = table(16), table(16)
    kernels.count_pairs(NUMBERS, ENDS, counted, 0, *whole, np.uint64(0), TOP, np.zeros(3, np.int64))
    kernels.refill_counts(*whole, middle, *narrow)
    assert entries(*narrow) == halves[0]


def test_a_place_gets_the_number_of_the_pair_that_begins_there():
    keys = np.array([key(0, 1), key(2, 0)], np.uint64)
    slots, of_slot = np.zeros(8, np.uint64), np.full(8, -1, np.int32)
    kernels.fill(keys, slots, of_slot)
    numbers = NUMBERS.copy()
    kernels.number_pairs(numbers, ENDS, slots, of_slot)
    known = {key(0, 1): 0, key(2, 0): 1}
    expected = []
    for text in TEXTS:
        expected += [
            known.get(key(a, b), -1) if a >= 0 and b >= 0 else -1 for a, b in pairwise(text)
        ]
        expected += [-1] * bool(text)
    assert numbers.tolist() == expected


def test_words_are_written_in_their_order():
    ids, ends = np.array([0, 1, 2, 1], np.int32), np.array([3, 3, 4])
    word_of, more_ends = np.array([5, -1, -2], np.int32), np.array([0, 2, 2])
    more = np.array([8, 9], np.int32)
    words, places = np.empty(8, np.int32), np.empty(3, np.int64)
    n = kernels.in_order(ids, ends, word_of, more_ends, more, words, places)
    assert words[:n].tolist() == [5, 8, 9, 8, 9]
    assert places.tolist() == [3, 3, 5]
