from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.text.tokenizer import tokenize
from ssi_core.views.lexicon import Lexicon, batches

# Letters, separators and marks that meet at the borders between ASCII and the rest.
TEXTS = st.lists(
    st.one_of(
        st.text(),
        st.text("aAbZwW09_ .=<-—’\u0338\u0301\u030aéÉßİΣσςﬁ２½ガ京あ\ufdfa\U0001d400", max_size=40),
        st.text("abcXYZ", min_size=6, max_size=30),
    ),
    max_size=8,
)


def counted(lexicon, texts):
    """Bags of words of texts as dicts."""
    indptr, numbers, counts = lexicon.count([text.encode() for text in texts])
    words = lexicon.words(numbers).to_list()
    return [dict(zip(words[a:b], counts[a:b].tolist(), strict=True)) for a, b in pairwise(indptr)]


@given(TEXTS, st.sampled_from(["en", "ja", "hi", "th"]))
def test_bytes_give_the_words_that_the_tokenizer_gives(texts, language):
    assert counted(Lexicon(language), texts) == [Counter(tokenize(t, language)) for t in texts]


@given(TEXTS)
def test_what_was_counted_before_changes_nothing(texts):
    lexicon = Lexicon("en")
    first = counted(lexicon, texts)
    assert counted(lexicon, texts) == first
    assert counted(lexicon, texts[::-1]) == first[::-1]


def test_tables_grow_with_the_words():
    texts = [" ".join(f"w{i} {'long' * 5}{i}" for i in range(k, k + 3000)) for k in (0, 2000)]
    lexicon = Lexicon("en")
    assert counted(lexicon, texts) == [Counter(tokenize(text)) for text in texts]
    assert len(lexicon) == 10_000


def test_one_very_long_word_is_a_word():
    word = "x" * 100_000
    assert counted(Lexicon("en"), [word, f"{word}y {word}"]) == [
        {word: 1},
        {word + "y": 1, word: 1},
    ]


def test_given_words_get_the_first_numbers():
    lexicon = Lexicon("en", ["zebra", "éa", "ant"])
    assert lexicon.words(np.arange(3)).to_list() == ["zebra", "éa", "ant"]
    indptr, numbers, counts = lexicon.count([b"Ant ant ZEBRA other"])
    assert dict(zip(numbers.tolist(), counts.tolist(), strict=True)) == {2: 2, 0: 1, 3: 1}
    assert indptr.tolist() == [0, 3]


@pytest.mark.parametrize("words", [["a", "a"], ["Upper"], ["two words"], [""]])
def test_given_words_must_be_distinct_words(words):
    with pytest.raises(ValueError, match="distinct words"):
        Lexicon("en", words)


@given(st.lists(st.binary(max_size=9)), st.integers(1, 20))
def test_batches_keep_every_text_and_the_bound(texts, most):
    found = list(batches(texts, most))
    assert [text for batch in found for text in batch] == texts
    assert all(len(batch) == 1 or sum(map(len, batch)) <= most for batch in found)


@given(st.lists(TEXTS, max_size=4), st.sampled_from(["en", "ja", "zh"]))
def test_batches_that_are_counted_apart_get_the_numbers_of_one_count(several, language):
    whole, merged = Lexicon(language), Lexicon(language)
    for texts in several:
        batch = [text.encode() for text in texts]
        apart = Lexicon(language)
        indptr, words, counts = apart.count(batch)
        expected = whole.count(batch)
        found = indptr, merged.merge(apart.chunks(0))[words], counts
        assert all(map(np.array_equal, found, expected))
        assert merged.chunks(0) == whole.chunks(0)
