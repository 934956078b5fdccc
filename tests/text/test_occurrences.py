from hypothesis import given
from hypothesis import strategies as st

from ssi_core.text.occurrences import occurrences
from ssi_core.text.tokenizer import tokenize

LETTERS = st.text("aBcÉß1 _-.ﬁＡ\u0301日本カﾀﾞ", max_size=30)


def surfaces(text, words):
    return [text[start:end] for start, end, _ in occurrences(text, words)]


def test_a_word_is_found_however_it_is_written():
    assert surfaces("CAR Ｃａｒ scar car_s cars", {"car"}) == ["CAR", "Ｃａｒ", "car"]
    assert surfaces("Ｃａｆé cafe\u0301", {"café"}) == ["Ｃａｆé", "cafe\u0301"]
    assert surfaces("the ﬁrst", {"first"}) == ["ﬁrst"]
    assert surfaces("हिन्दी में", {"हिन्दी"}) == ["हिन्दी"]
    # The sign of a vowel goes on with a word.
    assert surfaces("हिन्दी में हिन्द", {"हिन्द"}) == ["हिन्द"]


def test_a_script_without_blanks_is_searched_letter_by_letter():
    assert surfaces("東京都のﾀﾜｰ", set(tokenize("東京 タワー", "ja"))) == ["東京", "ﾀﾜｰ"]
    assert surfaces("iPhone用ケース", {"iphone", "ケース"}) == ["iPhone", "ケース"]
    # Each end of a word is judged by its own letter.
    assert surfaces("x用a 用ax", {"用a"}) == ["用a"]
    # The pairs of letters of Chinese overlap.
    assert surfaces("北京大学", set(tokenize("北京大", "zh"))) == ["北京", "京大"]


@given(LETTERS, st.sets(LETTERS.map(str.lower), max_size=4))
def test_what_is_found_is_one_of_the_words(text, words):
    found = occurrences(text, words)
    assert all(0 <= start < end <= len(text) for start, end, _ in found)
    assert all(word in words for *_, word in found)
    assert [start for start, *_ in found] == sorted(start for start, *_ in found)


@given(st.text("abc dé-.", max_size=40))
def test_every_word_of_a_text_is_found_in_it(text):
    assert [word for *_, word in occurrences(text, set(tokenize(text)))] == tokenize(text)
