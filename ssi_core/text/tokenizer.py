"""From a text to its words: NFKC, lower case, maximal runs of letters or digits.

There is no stemming and no stop list (Bai et al. 2010, section 4). `tokenize` is the definition;
`ssi_core.features.lexicon` gives the same words from UTF-8 bytes, many times faster.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import pairwise

VERSION = 1
"""Counted up whenever a text may give other words than before; part of every view's ``space``."""

Rule = Callable[[str], list[str]]

_RUN = re.compile(r"[^\W_]+")
_KATAKANA = r"\u30a1-\u30fa\u30fc"
_HIRAGANA = r"\u3041-\u309f"
_IDEOGRAPHS = r"\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SCRIPTS = re.compile(
    rf"(?P<katakana>[{_KATAKANA}]+)|(?P<ideographs>[{_IDEOGRAPHS}]+)|(?P<hiragana>[{_HIRAGANA}]+)"
    rf"|(?P<other>[^\W_{_KATAKANA}{_IDEOGRAPHS}{_HIRAGANA}]+)"
)


def tokenize(text: str, language: str = "en") -> list[str]:
    """Split a text into words.

    A run is put in lower case by itself, so that a word does not depend on its neighbours, and a
    word is its own only word: ``tokenize(word) == [word]``.

    Parameters
    ----------
    text : any text
    language : code of a Wikipedia; one that is not in `LANGUAGES` is split at all that is neither
        a letter nor a digit

    >>> tokenize("Ｗｉｋｉ’s 3 CAFÉS")
    ['wiki', 's', '3', 'cafés']
    >>> tokenize("東京都のタワー", "ja")
    ['東京', '京都', 'タワー']
    """
    return LANGUAGES.get(language, _words)(unicodedata.normalize("NFKC", text))


def is_spaced(language: str) -> bool:
    """Tell whether the words of a language stand between characters that are no letters."""
    return language not in LANGUAGES


def _words(text: str) -> list[str]:
    """Maximal runs of letters or digits."""
    return [word for run in _RUN.findall(text) for word in _RUN.findall(run.lower())]


def _ideographs(text: str) -> list[str]:
    """Katakana runs, pairs of neighbouring ideographs, and runs of other letters or digits.

    Hiragana is mostly grammar and is left out, unless the text holds nothing else.
    """
    words: list[str] = []
    syllables: list[str] = []
    for match in _SCRIPTS.finditer(text):
        run = match.group()
        if match.lastgroup == "ideographs":
            words += _pairs(run)
        elif match.lastgroup == "hiragana":
            syllables += _pairs(run)
        else:
            words += _words(run)
    return words or syllables


def _pairs(units: str | list[str]) -> list[str]:
    """Neighbouring pairs; a single unit stays.

    >>> _pairs("abc"), _pairs("a")
    (['ab', 'bc'], ['a'])
    """
    if len(units) < 2:
        return ["".join(units)]
    return [first + second for first, second in pairwise(units)]


@cache
def _marks() -> str:
    """Return the marks of Unicode as ranges of a character class."""
    marks = [c for c in range(0x300, 0x20000) if unicodedata.category(chr(c))[0] == "M"]
    known = set(marks)
    first = [c for c in marks if c - 1 not in known]
    last = [c for c in marks if c + 1 not in known]
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(first, last, strict=True))


@cache
def _marked_run() -> re.Pattern[str]:
    return re.compile(rf"[^\W_](?:[^\W_]|[{_marks()}])*")


@cache
def _marked_letter() -> re.Pattern[str]:
    return re.compile(rf"[^\W_][{_marks()}]*")


def _marked_words(text: str) -> list[str]:
    """Maximal runs of letters, digits and the vowel signs between them."""
    runs = _marked_run().findall(text)
    # The small form of a letter can join with a mark that the capital did not join with.
    small = (unicodedata.normalize("NFKC", run.lower()) for run in runs)
    return [word for run in small for word in _marked_run().findall(run)]


def _letter_pairs(text: str) -> list[str]:
    """Pairs of neighbouring letters, each with the marks that sit on it."""
    return [pair for run in _marked_words(text) for pair in _pairs(_marked_letter().findall(run))]


LANGUAGES: dict[str, Rule] = {
    **dict.fromkeys(("ja", "zh", "zh-classical", "zh-yue", "yue", "wuu", "gan"), _ideographs),
    **dict.fromkeys(("th", "lo", "km", "my"), _letter_pairs),
    **dict.fromkeys(("hi", "mr", "ne", "sa", "bn", "as", "pa", "gu"), _marked_words),
    **dict.fromkeys(("or", "ta", "te", "kn", "ml", "si", "bo", "dz"), _marked_words),
}
"""Languages that need more than runs of letters or digits, by the code of their Wikipedia."""
