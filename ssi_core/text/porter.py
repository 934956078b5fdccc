"""Porter's stemmer: endings of English words are cut off, so that forms of a word become one.

Source: M. F. Porter, An algorithm for suffix stripping (Program 14(3), 1980), the algorithm as
printed there, with the two departures that its author states on the page of his own program
(``logi`` -> ``log`` and ``bli`` -> ``ble`` in step 2). Words of one or two letters, and words with
a letter that is not ASCII or with a digit, stay as they are.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

_WORD = re.compile(r"[a-z]{3,}")
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
    ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Return the stem of a word in lower case.

    Parameters
    ----------
    word : str
        A word as `tokenize` has it.

    >>> [stem(word) for word in ("relational", "hopping", "happy", "replacement", "café")]
    ['relat', 'hop', 'happi', 'replac', 'café']
    """
    if not _WORD.fullmatch(word):
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    for endings in (_STEP_2, _STEP_3):
        word = _replaced(word, endings)
    return _last(_without(word))


@lru_cache(maxsize=1 << 18)
def root(word: str) -> str:
    """Return the stem of the stem, and so on until it stays: a root is its own root.

    >>> [(stem(word), root(word)) for word in ("aliases", "alias")]
    [('alias', 'alia'), ('alia', 'alia')]
    """
    shorter = stem(word)
    return word if shorter == word else root(shorter)


def _plural(word: str) -> str:
    """Step 1a: ``sses`` -> ``ss``, ``ies`` -> ``i``, ``s`` -> nothing."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past(word: str) -> str:
    """Step 1b: drop ``ed`` and ``ing`` and repair the stem; ``eed`` -> ``ee``."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest == word:
            continue
        if not _has_vowel(rest):
            return word
        if rest.endswith(("at", "bl", "iz")):
            return rest + "e"
        if _ends_double(rest) and rest[-1] not in "lsz":
            return rest[:-1]
        if _measure(rest) == 1 and _ends_short(rest):
            return rest + "e"
        return rest
    return word


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    """Steps 2 and 3: replace the longest ending of a table if the rest has a measure above 0."""
    matches = [pair for pair in endings if word.endswith(pair[0])]
    if matches:
        old, new = max(matches, key=lambda pair: len(pair[0]))
        rest = word[: -len(old)]
        if _measure(rest) > 0:
            return rest + new
    return word


def _without(word: str) -> str:
    """Step 4: drop the longest ending of a list if the rest has a measure above 1."""
    matches = [ending for ending in _STEP_4 if word.endswith(ending)]
    if matches:
        ending = max(matches, key=len)
        rest = word[: -len(ending)]
        if _measure(rest) > 1 and (ending != "ion" or rest.endswith(("s", "t"))):
            return rest
    return word


def _last(word: str) -> str:
    """Step 5: drop a last ``e`` and the second of two ``l``."""
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _ends_short(rest)):
            word = rest
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _consonants(word: str) -> list[bool]:
    """Tell for each letter whether it is a consonant; ``y`` is one unless it follows one."""
    kinds: list[bool] = []
    for position, letter in enumerate(word):
        if letter == "y":
            kinds.append(position == 0 or not kinds[-1])
        else:
            kinds.append(letter not in "aeiou")
    return kinds


def _measure(word: str) -> int:
    """Count the changes from a vowel to a consonant."""
    kinds = _consonants(word)
    return sum(not before and after for before, after in itertools.pairwise(kinds))


def _has_vowel(word: str) -> bool:
    return not all(_consonants(word))


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonants(word)[-1]


def _ends_short(word: str) -> bool:
    """Tell whether the word ends with consonant, vowel, consonant other than w, x and y."""
    return _consonants(word)[-3:] == [True, False, True] and word[-1] not in "wxy"
