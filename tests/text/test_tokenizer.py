import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.text.tokenizer import LANGUAGES, tokenize


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat's 2 mats, 3.5m_wide", ["the", "cat", "s", "2", "mats", "3", "5m", "wide"]),
        ("ﬁne Ｆｕｌｌ Straße ÉCOLE", ["fine", "full", "straße", "école"]),
        ("e\u0301cole", ["école"]),
        ("x² ½ Ⅷ", ["x2", "1", "2", "viii"]),
        ("Ελλάς ΟΔΟΣ", ["ελλάς", "οδος"[:-1] + "ς"]),
        ("İzmir", ["i", "zmir"]),
        ("", []),
        ("\x00 \ud800 --", []),
    ],
)
def test_words_are_runs_of_letters_or_digits_in_lower_case(text, words):
    assert tokenize(text) == words


def test_japanese_is_katakana_runs_and_pairs_of_ideographs():
    assert tokenize("京都市のﾗｰﾒﾝとTV塔", "ja") == ["京都", "都市", "ラーメン", "tv", "塔"]


def test_a_text_in_hiragana_alone_is_not_empty():
    assert tokenize("ひらがな", "ja") == ["ひら", "らが", "がな"]


def test_marks_stay_with_their_letters_where_a_language_needs_them():
    assert tokenize("हिन्दी भाषा", "hi") == ["हिन्दी", "भाषा"]
    assert tokenize("ภาษาไทย", "th") == ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]


def test_an_unknown_language_is_split_like_any_other():
    assert tokenize("Gwir pob gwir", "xx") == ["gwir", "pob", "gwir"]


@pytest.mark.parametrize("language", ["en", "ja", "hi", "th"])
def test_a_word_of_any_letter_is_its_own_only_word(language):
    letters = " ".join(f"a{chr(c)}b" for c in range(0x18000))
    words = sorted(set(tokenize(letters, language)))
    assert len(words) > 50_000
    assert tokenize(" ".join(words), language) == words


@given(st.text(), st.sampled_from(["en", *sorted(LANGUAGES)]))
def test_words_of_a_text_are_their_own_words(text, language):
    for word in tokenize(text, language):
        assert tokenize(word, language) == [word]


@given(st.text(), st.sampled_from(["en", *sorted(LANGUAGES)]))
def test_a_text_with_a_letter_or_digit_has_a_word(text, language):
    assert bool(tokenize(text, language)) == bool(tokenize(text))
