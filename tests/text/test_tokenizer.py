import re
import sys
from functools import partial
from importlib import metadata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ssi_core.text import japanese, runs
from ssi_core.text.tokenizer import LANGUAGES, identities, identity, language_of, tokenize
from ssi_core.types import Refused


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


@given(st.text() | st.text("aBİΣ_ﬁ²3\u0307\u0345 -"))
@example("aİB İ a\u0345B")
def test_each_run_is_put_into_lower_case_by_itself(text):
    run = re.compile(r"[^\W_]+")
    expected = [word for one in run.findall(text) for word in run.findall(one.lower())]
    assert runs.words(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("京都市のﾗｰﾒﾝとTV塔", ["京都", "市", "ラーメン", "tv", "塔"]),
        ("ＪＲ京都駅で１９９７年に", ["jr", "京都", "駅", "1997", "年"]),
        ("二千八年　11月28日", ["2008", "年", "11", "月", "28", "日"]),
        ("食べました。食べない", ["食べる", "食べる"]),
        ("1行目\n2行目", ["1", "行", "目", "2", "行", "目"]),
        ("한국어 ελλάς", ["한국어", "ελλάς"]),
        ("、。！", []),
    ],
)
def test_japanese_is_split_by_its_dictionary(text, words):
    assert tokenize(text, "ja") == words


@pytest.fixture
def without_sudachi(monkeypatch):
    def refuse(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", refuse)
    for name in ("sudachipy", "sudachidict_core"):
        monkeypatch.setitem(sys.modules, name, None)
    remembered = (japanese.version, japanese._dictionary)
    for one in remembered:
        one.cache_clear()
    monkeypatch.delattr(japanese._of_thread, "analyser", raising=False)
    yield
    for one in remembered:
        one.cache_clear()


@pytest.mark.parametrize("ask", [partial(tokenize, "東京"), identity, LANGUAGES["ja"].rule])
def test_japanese_without_its_analyser_is_refused_with_the_command_that_installs_it(
    without_sudachi, ask
):
    with pytest.raises(Refused, match=r"pip install 'ssi\[japanese\]'\."):
        ask("ja")


def test_other_languages_need_no_analyser(without_sudachi):
    assert "ja 1" not in identities()
    assert "en 1" in identities()
    assert tokenize("the cat") == ["the", "cat"]
    assert tokenize("東京", "zh") == ["東京"]


def test_a_text_of_nothing_but_grammar_is_not_empty():
    assert tokenize("だけでは", "ja") == ["だけ", "けで", "では"]


def test_a_japanese_text_may_be_one_very_long_line():
    assert len(tokenize("清水寺" * 30_000, "ja")) >= 30_000


def test_chinese_is_pairs_of_ideographs():
    assert tokenize("北京市和TV塔", "zh") == ["北京", "京市", "市和", "tv", "塔"]


def test_a_language_without_an_entry_is_split_in_any_script():
    assert tokenize("Gwir-東京都 ภาษา ok", "xx") == ["gwir", "東京", "京都", "ภา", "าษ", "ษา", "ok"]


def test_the_identity_names_the_dictionary():
    assert identity("en") == "1"
    assert identity("ja").startswith("1 sudachipy ")
    assert " core 20" in identity("ja")


def test_marks_stay_with_their_letters_where_a_language_needs_them():
    assert tokenize("हिन्दी भाषा", "hi") == ["हिन्दी", "भाषा"]
    assert tokenize("ภาษาไทย", "th") == ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]


def test_an_unknown_language_is_split_like_any_other():
    assert tokenize("Gwir pob gwir", "xx") == ["gwir", "pob", "gwir"]


SAMPLED = ["en", "xx", *sorted(LANGUAGES)]


@pytest.mark.parametrize("language", ["en", "zh", "hi", "th", "xx"])
def test_a_word_of_any_letter_is_its_own_only_word(language):
    letters = " ".join(f"a{chr(c)}b" for c in range(0x18000))
    words = sorted(set(tokenize(letters, language)))
    assert len(words) > 50_000
    assert tokenize(" ".join(words), language) == words


# Dictionaries, and the range of ideographs, have letters of a later Unicode than Python.
KNOWN = st.characters(exclude_categories=("Cs", "Cn"))


@given(st.text(KNOWN), st.sampled_from(SAMPLED))
@example("¼", "ja")
def test_words_of_a_text_are_their_own_words(text, language):
    # Japanese words depend on what is beside them, and a dictionary may write 1/4 as one letter; as
    # chunks of the lexicon they stay whole.
    again = runs.words if language == "ja" else partial(tokenize, language=language)
    for word in tokenize(text, language):
        assert again(word) == [word]


@given(st.text(KNOWN), st.sampled_from(SAMPLED))
def test_a_text_with_a_letter_or_digit_has_a_word(text, language):
    assert bool(tokenize(text, language)) == bool(tokenize(text))


@given(st.text(), st.sampled_from([c for c in SAMPLED if language_of(c).by_chunk]))
def test_words_of_a_text_are_those_of_its_chunks(text, language):
    chunks = tokenize(text.replace("-", " "), language)
    assert tokenize(text, language) == chunks
    whole = [word for chunk in text.split(" ") for word in tokenize(chunk, language)]
    assert whole == chunks
