"""Japanese words by morphological analysis: SudachiPy with its core dictionary.

Takaoka et al. (2018), Sudachi: a Japanese tokenizer for business. Units are the short ones (split
mode A), so that a compound shares its parts with other compounds. Words are in their normalised
form, which joins inflections (食べ, 食べる), spellings (ひらがな, 平仮名), numbers (二千八, 2008).
Particles and auxiliary verbs are left out: every sentence has them, as it has marks.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import metadata
from typing import TYPE_CHECKING

from ssi_core.text import runs
from ssi_core.types import Refused

if TYPE_CHECKING:
    from sudachipy import Dictionary, Tokenizer

PACKAGES = ("sudachipy", "sudachidict_core")
"""Distributions of the analyser and of its dictionary."""

MODE = "A"
LEFT_OUT = ("助詞", "助動詞")
"""Parts of speech without a content of their own: particles, auxiliary verbs."""

# The analyser takes 49,149 bytes at a time; a character has at most 4.
_SENTENCE = re.compile(r"[^\n。]{1,10000}。?")


@contextmanager
def _needed() -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise Refused(
            "Japanese texts are split into words by Sudachi, which is not installed here: "
            "pip install 'ssi[japanese]'."
        ) from None


@cache
def version() -> str:
    """Return the version of the analysis: the analyser, its dictionary, mode and form.

    Raises
    ------
    Refused
        They are not installed.
    """
    with _needed():
        analyser, dictionary = (metadata.version(name) for name in PACKAGES)
    return f"sudachipy {analyser} core {dictionary} {MODE} normalized"


def words(text: str) -> list[str]:
    """Split a Japanese text in NFKC into words in lower case.

    A text that is nothing but grammar is not empty: it gives its pairs of letters.

    >>> words("二千八年に、東京都庁で食べました。")
    ['2008', '年', '東京', '都庁', '食べる']
    >>> words("だけでは")
    ['だけ', 'けで', 'では']
    """
    text = text.encode(errors="replace").decode()
    analyser, left_out = _analyser(), _left_out()
    tokens: list[str] = []
    for sentence in _SENTENCE.findall(text):
        for morpheme in analyser.tokenize(sentence):
            if morpheme.part_of_speech_id() not in left_out:
                tokens += _letters(morpheme.normalized_form(), morpheme.surface())
    return tokens or runs.ideographs(text)


@lru_cache(1 << 18)
def _letters(normalized: str, surface: str) -> tuple[str, ...]:
    # The normalised form of some letters is a mark: "ー" as "-".
    return tuple(runs.words(normalized) or runs.words(surface))


@cache
def _dictionary() -> Dictionary:
    with _needed():
        from sudachipy import Dictionary

        return Dictionary(dict="core")


@cache
def _left_out() -> frozenset[int]:
    """Return the numbers of the parts of speech to leave out."""
    dictionary = _dictionary()
    numbers = set()
    number = 0
    while (tags := dictionary.pos_of(number)) is not None:
        if tags[0] in LEFT_OUT:
            numbers.add(number)
        number += 1
    return frozenset(numbers)


_of_thread = threading.local()


def _analyser() -> Tokenizer:
    """Return this thread's analyser, because threads must not share one."""
    if not hasattr(_of_thread, "analyser"):
        _of_thread.analyser = _dictionary().tokenizer(MODE)
    analyser: Tokenizer = _of_thread.analyser
    return analyser
