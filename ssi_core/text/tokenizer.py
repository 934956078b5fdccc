"""Tokenizer: NFKC, lower case, and the splitting rule of the language.

Most rules take maximal runs of letters or digits. There is no stemming and no stop list there (Bai
et al. 2010, section 4); `stemmed` names the rule that has the stems of a language. A language is an
entry of `LANGUAGES`; any other language is split at all that is neither letter nor digit, and runs
in a script without blanks between words become pairs of letters. A text with a letter or a digit
has a word, in every language (of Arabic, with a letter that is not the tatweel).

`tokenize` is the definition; `ssi_core.views.lexicon` gives the same words from UTF-8 bytes,
many times faster where a rule works on chunks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from ssi_core.text import japanese, runs
from ssi_core.text.porter import root
from ssi_core.types import Refused

VERSION = 1
"""Counted up whenever a text may give other words than before; part of every view's ``space``."""


@dataclass(frozen=True)
class Language:
    """Splitting rule of a language.

    Attributes
    ----------
    rule : callable
        Words of a text in NFKC.
    by_chunk : bool
        A text has the words of its chunks between separators of ASCII, and a word is its own only
        word.
    verbatim : bool
        A chunk of ASCII letters and digits in lower case is a word as it is.
    version : callable
        What the words depend on beside this package, or a number if the rule was changed.
    packages : tuple of str
        Distributions that the rule needs, and no other part of this package does.
    """

    rule: Callable[[str], list[str]]
    by_chunk: bool = True
    version: Callable[[], str] = lambda: ""
    packages: tuple[str, ...] = ()
    verbatim: bool = True


def tokenize(text: str, language: str = "en") -> list[str]:
    """Split a text into words.

    Runs are put into lower case one by one, so that a word does not depend on its neighbours.

    Parameters
    ----------
    text : str
        Any text.
    language : str
        Code of a Wikipedia.

    >>> tokenize("Ｗｉｋｉ’s 3 CAFÉS")
    ['wiki', 's', '3', 'cafés']
    >>> tokenize("東京都のﾀﾜｰ", "ja")
    ['東京', '都', 'タワー']
    >>> tokenize("E0425 __init__ --force .gitignore C++ read_file() std::vec")
    ['e0425', 'init', 'force', 'gitignore', 'c', 'read', 'file', 'std', 'vec']
    """
    return language_of(language).rule(unicodedata.normalize("NFKC", text))


def language_of(code: str) -> Language:
    """Return the entry of a language, or that of the languages that have none."""
    return LANGUAGES.get(code, ANY)


def stemmed(code: str) -> str | None:
    """Return the code whose words are the stems of those of a language; None where there is none.

    >>> tokenize("Relational links, linking", stemmed("en"))
    ['relat', 'link', 'link']
    """
    return f"{code}{_STEMS}" if f"{code}{_STEMS}" in LANGUAGES else None


def spoken(code: str) -> str:
    """Return the code of a language without that of its stems.

    >>> spoken("en-stems"), spoken("zh-yue")
    ('en', 'zh-yue')
    """
    return code.removesuffix(_STEMS)


def identity(language: str) -> str:
    """Tell what the words of a language's texts depend on, dictionaries included.

    >>> identity("en")
    '1'
    """
    return " ".join(filter(None, (str(VERSION), language_of(language).version())))


def identities() -> str:
    """Tell what the words of all languages depend on that can be read here."""
    told = []
    for code in sorted([*LANGUAGES, ""]):
        with suppress(Refused):  # a package that its rule needs is not installed
            told.append(f"{code} {identity(code)}")
    return ", ".join(told)


@cache
def _marks() -> str:
    """Return Unicode's marks as ranges of a character class."""
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
    """Return the runs of letters, digits and the vowel signs between them."""
    words = _marked_run().findall(text)
    # The small form of a letter can join with a mark that the capital did not join with.
    small = (unicodedata.normalize("NFKC", run.lower()) for run in words)
    return [word for run in small for word in _marked_run().findall(run)]


def _letter_pairs(text: str) -> list[str]:
    """Return pairs of neighbouring letters, each with its marks."""
    return [
        pair for run in _marked_words(text) for pair in runs.pairs(_marked_letter().findall(run))
    ]


# Kana and ideographs; Thai and Lao, Burmese, Khmer.
_UNSPACED = (
    r"\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
UNSPACED_LETTER = re.compile(rf"[{_UNSPACED}]")


@cache
def _piece() -> re.Pattern[str]:
    letter = rf"(?=[{_UNSPACED}])[^\W_][{_marks()}]*"
    return re.compile(rf"(?P<unspaced>(?:{letter})+)|(?:(?![{_UNSPACED}])[^\W_])+")


MARKS = {chr(code): "" for code in (*range(0x300, 0x370), *range(0x591, 0x671))
         if unicodedata.category(chr(code)) == "Mn"} | {"\u0640": "", "İ": "i"}  # fmt: skip
"""What `ANY` leaves out of words, or reads as another letter: vowels of Arabic and Hebrew, marks
that no letter is joined with, the tatweel, and the dot of a capital I.
"""
_MARKS = str.maketrans(MARKS)


def _any_script(text: str) -> list[str]:
    """Return runs of letters or digits, and pairs of letters in scripts without blanks."""
    text = text if text.isascii() else text.translate(_MARKS)
    if not UNSPACED_LETTER.search(text):
        return runs.words(text)
    words: list[str] = []
    for piece in _piece().finditer(text):
        unspaced = piece.lastgroup == "unspaced"
        words += _letter_pairs(piece.group()) if unspaced else runs.words(piece.group())
    return words


def _english_stems(text: str) -> list[str]:
    return [root(word) for word in runs.words(text)]


_STEMS = "-stems"

ANY = Language(_any_script, version=lambda: "any 3")
"""A language that is not in the table, in whatever script."""

_CHINESE = Language(runs.ideographs, by_chunk=False)
_PAIRS = Language(_letter_pairs, by_chunk=False)
_MARKED = Language(_marked_words, by_chunk=False)

LANGUAGES: dict[str, Language] = {
    "en": Language(runs.words),
    f"en{_STEMS}": Language(_english_stems, verbatim=False, version=lambda: "porter 1"),
    "ja": Language(japanese.words, False, japanese.version, japanese.PACKAGES),
    **dict.fromkeys(("zh", "zh-classical", "zh-yue", "yue", "wuu", "gan"), _CHINESE),
    **dict.fromkeys(("th", "lo", "km", "my"), _PAIRS),
    **dict.fromkeys(("hi", "mr", "ne", "sa", "bn", "as", "pa", "gu"), _MARKED),
    **dict.fromkeys(("or", "ta", "te", "kn", "ml", "si", "bo", "dz"), _MARKED),
}
"""Languages with a rule of their own, by the code of their Wikipedia."""
