"""Runs of letters or digits, and pairs of neighbouring letters: what every rule is made of."""

from __future__ import annotations

import re
from itertools import pairwise

_RUN = re.compile(r"[^\W_]+")
_KATAKANA = r"\u30a1-\u30fa\u30fc"
_HIRAGANA = r"\u3041-\u309f"
_IDEOGRAPHS = r"\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SCRIPTS = re.compile(
    rf"(?P<katakana>[{_KATAKANA}]+)|(?P<ideographs>[{_IDEOGRAPHS}]+)|(?P<hiragana>[{_HIRAGANA}]+)"
    rf"|(?P<other>[^\W_{_KATAKANA}{_IDEOGRAPHS}{_HIRAGANA}]+)"
)


def words(text: str) -> list[str]:
    """Return the runs of letters or digits, in lower case.

    >>> words("Wiki's 3 CAFÉS")
    ['wiki', 's', '3', 'cafés']
    """
    if text.isascii():
        return _RUN.findall(text.lower())
    found: list[str] = []
    for run in _RUN.findall(text):
        # Lower case can put a mark beside a letter, which ends a run, but no letter of ASCII.
        found += [run.lower()] if run.isascii() else _RUN.findall(run.lower())
    return found


def pairs(units: str | list[str]) -> list[str]:
    """Return neighbouring pairs; a single unit stays.

    >>> pairs("abc"), pairs("a")
    (['ab', 'bc'], ['a'])
    """
    if len(units) < 2:
        return ["".join(units)]
    return [first + second for first, second in pairwise(units)]


def ideographs(text: str) -> list[str]:
    """Return katakana runs, pairs of ideographs, and runs of other letters or digits.

    Hiragana is mostly grammar and is left out, unless the text holds nothing else.

    >>> ideographs("東京都のタワー"), ideographs("ひらがな")
    (['東京', '京都', 'タワー'], ['ひら', 'らが', 'がな'])
    """
    tokens: list[str] = []
    syllables: list[str] = []
    for match in _SCRIPTS.finditer(text):
        run = match.group()
        if match.lastgroup == "ideographs":
            tokens += pairs(run)
        elif match.lastgroup == "hiragana":
            syllables += pairs(run)
        else:
            tokens += words(run)
    return tokens or syllables
