from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_core.guests.monitoring import cooccurrence
from ssi_core.guests.monitoring.cooccurrence import count_words, distance, word_map
from ssi_core.text.tokenizer import tokenize
from ssi_core.views.lexicon import batches
from tests.guests.monitoring.maps import map_of

DOCUMENTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), min_size=1, max_size=12)


def naive(documents, one, other):
    """DICE from its definition."""
    has = [{word for word in own} for own in documents]
    both = sum(one in own and other in own for own in has)
    either = sum(one in own for own in has) + sum(other in own for own in has)
    return 2 * both / either if both and one != other else 0.0


@given(DOCUMENTS)
@settings(deadline=None)
def test_the_map_is_dice_of_the_words_of_most_documents(documents):
    found = map_of(documents, most=4)
    frequency = {word: sum(word in own for own in documents) for word in "abcdef"}
    there = [word for word in "abcdef" if frequency[word]]
    assert list(found.words) == sorted(there, key=lambda w: (-frequency[w], w))[:4]
    expected = [[naive(documents, a, b) for b in found.words] for a in found.words]
    np.testing.assert_allclose(found.dice, np.reshape(expected, found.dice.shape), rtol=1e-6)


@given(DOCUMENTS, DOCUMENTS)
@settings(deadline=None)
def test_a_distance_is_between_equal_and_nothing_in_common(one, other):
    maps = map_of(one, "abcdef"), map_of(other, "abcdef")
    assert distance(maps[0], maps[0]) == 0
    assert 0 <= distance(*maps) <= 1
    assert distance(*maps) == pytest.approx(distance(*reversed(maps)), abs=1e-6)


def test_maps_with_other_pairs_are_at_one():
    maps = map_of([["a", "b"], ["c", "d"]]), map_of([["a", "c"], ["b", "d"]])
    assert distance(*maps) == 1
    # One of two pairs is half as strong.
    weak = map_of([["a", "b"], ["c", "d"], ["c", "d"], ["c"], ["c"], ["d"], ["d"]], "abcd")
    whole = map_of([["a", "b"], ["c", "d"]], "abcd")
    assert distance(weak, whole) == pytest.approx(1 - (1 + 0.5) / 2)


def test_only_the_best_matches_of_a_word_are_compared():
    # "a" goes with "b" as before, and less with "c".
    one = map_of([["a", "b"]] * 4 + [["c", "a"]] * 2 + [["c"]], "abc")
    other = map_of([["a", "b"]] * 4 + [["a", "c"]] + [["a"], ["c"], ["c"]], "abc")
    loss = 1 - other.dice[0, 2] / one.dice[0, 2]
    assert 0 < loss < 1
    assert one.dice[0, 1] == other.dice[0, 1]
    # Of "c" the best match is "a" in both; of "a" it is "b".
    low = 2 * one.dice[0, 1] + other.dice[0, 2]
    assert distance(one, other, matches=1) == pytest.approx(1 - low / (low + one.dice[0, 2] * loss))
    assert distance(one, other, matches=2) > distance(one, other, matches=1)


def test_words_are_counted_as_they_are_tokenised_in_each_language(monkeypatch):
    monkeypatch.setattr(cooccurrence, "batches", lambda texts: batches(texts, most=8))
    texts = ["Das Auto, das AUTO", "東京都のﾀﾜｰ", "", "the car's auto", "東京 auto"]
    languages = ["de", "ja", "en", "en", "ja"]
    counts = count_words(texts, languages)
    words = counts.words.to_list()
    assert len(set(words)) == len(words)
    for row, text, language in zip(counts.matrix.toarray(), texts, languages, strict=True):
        found = {word: n for word, n in zip(words, row.tolist(), strict=True) if n}
        assert found == Counter(tokenize(text, language))
    # A word of two languages is one.
    assert word_map(counts, ["auto", "东"]).dice.tolist() == [[0, 0], [0, 0]]
    assert word_map(counts).words[0] == "auto"


def test_maps_of_other_words_are_not_compared():
    with pytest.raises(ValueError, match="maps of different words"):
        distance(map_of([["a"]]), map_of([["b"]]))
