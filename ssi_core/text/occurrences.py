"""Occurrences of words in a text as it is written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator

from ssi_core.text.porter import root
from ssi_core.text.tokenizer import UNSPACED_LETTER, tokenize

# A character and the marks that sit on it, those of half-width kana too.
_CLUSTER = re.compile(r".[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*", re.DOTALL)

# A part of a text, which ends between words if any do: only parts that are not plain take time.
_PIECE = re.compile(r".{1,400}(?=[\s.,;:!?、。])|.{1,400}", re.DOTALL)

Occurrence = tuple[int, int, str]
"""Start, end and word."""


class Stemmed(dict[str, float]):
    """Weights of stems, of which every word of a text has one."""

    def words_in(self, text: str) -> dict[str, float]:
        """Return the words of a text whose stems are known, with their weights.

        >>> Stemmed(link=2.0).words_in("Linked pages have links.")
        {'linked': 2.0, 'links': 2.0}
        """
        stems = ((word, root(word)) for word in dict.fromkeys(tokenize(text)))
        return {word: self[stem] for word, stem in stems if stem in self}


def occurrences(text: str, words: Collection[str]) -> list[Occurrence]:
    """Return where some words are in a text, in its order.

    A word is found however its letters are written; in a script with blanks between words as a
    whole run of letters or digits, in another one wherever its letters follow each other, so that
    occurrences may overlap there. Not found is a word that a rule of its language has changed, such
    as the dictionary form of a verb.

    Parameters
    ----------
    words : collection of str
        As `tokenizer.tokenize` returns them.

    >>> occurrences("A Car, scars.", {"car"}), occurrences("東京都のﾀﾜｰ", {"東京", "タワー"})
    ([(2, 5, 'car')], [(0, 2, '東京'), (4, 7, 'タワー')])
    """
    matches: list[Occurrence] = []
    plain = unicodedata.is_normalized("NFKC", text)
    for first, piece in [(0, text)] if plain else _pieces(text):
        folded, starts, ends = _fold(piece)
        for word in words:
            for begin in _places(folded, word) if word else ():
                end = begin + len(word)
                if starts is not None and ends is not None:
                    matches.append((first + starts[begin], first + ends[end - 1], word))
                else:
                    matches.append((first + begin, first + end, word))
    return sorted(set(matches))


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    for piece in _PIECE.finditer(text):
        yield piece.start(), piece.group()


def _fold(text: str) -> tuple[str, list[int] | None, list[int] | None]:
    """Return a text in NFKC and lower case, with the original positions of moved characters."""
    lower = text.lower()
    if len(lower) == len(text) and unicodedata.is_normalized("NFKC", text):
        return lower, None, None
    pieces, starts, ends = [], [], []
    for cluster in _CLUSTER.finditer(text):
        piece = unicodedata.normalize("NFKC", cluster.group()).lower()
        pieces.append(piece)
        starts += [cluster.start()] * len(piece)
        ends += [cluster.end()] * len(piece)
    return "".join(pieces), starts, ends


def _places(text: str, word: str) -> Iterator[int]:
    """Yield the positions of a word in a folded text."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if _apart(text[start - 1 : start], word[0]) and _apart(text[end : end + 1], word[-1]):
            yield start
        start = text.find(word, start + 1)


def _apart(beside: str, letter: str) -> bool:
    """Tell whether a word can end between two neighbouring characters."""
    if not beside or not (beside.isalnum() or unicodedata.category(beside)[0] == "M"):
        return True
    return bool(UNSPACED_LETTER.match(letter) or UNSPACED_LETTER.match(beside))
