from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.views.lexicon import Lexicon, choose_words, to_columns

WORDS = st.text("abé", min_size=1, max_size=3)


@given(st.lists(WORDS, min_size=1), st.none() | st.integers(1, 12))
def test_the_most_frequent_words_are_taken_in_order(words, most):
    lexicon = Lexicon("en")
    _, numbers, counts = lexicon.count([" ".join(words).encode()])
    frequency = np.zeros(len(lexicon), np.int64)
    frequency[numbers] = counts
    vocabulary, ids = choose_words(lexicon, frequency, most)
    by_frequency = sorted(Counter(words).items(), key=lambda item: (-item[1], item[0]))
    assert list(vocabulary) == [word for word, _ in by_frequency][:most]
    for number in range(len(lexicon)):
        word = lexicon.words(np.array([number]))[0]
        place = list(vocabulary).index(word) if word in vocabulary else -1
        assert ids[number] == place


def test_words_that_do_not_occur_are_left_out():
    lexicon = Lexicon("en", ["a", "b", "c"])
    vocabulary, ids = choose_words(lexicon, np.array([0, 2, 1]), 5)
    assert list(vocabulary) == ["b", "c"]
    assert ids.tolist() == [-1, 0, 1]


@pytest.mark.parametrize("width", [2, 4])
def test_columns_outside_are_left_out_and_the_rest_is_sorted(width):
    rows = to_columns(
        np.array([0, 3, 3, 5]),
        np.array([3, 0, -1, 1, 0], np.int32),
        np.array([5, 6, 7, 8, 9], np.int32),
        width,
    )
    whole = [[6, 0, 0, 5], [0, 0, 0, 0], [9, 8, 0, 0]]
    assert rows.toarray().tolist() == [row[:width] for row in whole]
    assert rows.has_sorted_indices


@given(st.lists(st.integers(-1, 20), unique=True), st.integers(1, 25))
def test_one_text_has_the_row_that_it_has_among_others(columns, width):
    numbers, counts = np.array(columns, np.int32), np.arange(len(columns), dtype=np.int32) + 1
    alone = to_columns(np.array([0, len(columns)]), numbers, counts, width)
    first = to_columns(np.array([0, len(columns), len(columns)]), numbers, counts, width)[:1]
    for part in ("indptr", "indices", "data"):
        ours, theirs = getattr(alone, part), getattr(first, part)
        assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())
    assert (type(alone), alone.shape) == (type(first), first.shape)
    assert alone.has_canonical_format
