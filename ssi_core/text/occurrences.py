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


def stems_of(text: str) -> list[tuple[str, str]]:
    """Return the distinct words of a text with their stems.

    >>> stems_of("Linked pages have links.")
    [('linked', 'link'), ('pages', 'page'), ('have', 'have'), ('links', 'link')]
    """
    return [(word, root(word)) for word in dict.fromkeys(tokenize(text))]


class Searchable:
    """A text, folded once, in which words are looked for any number of times.

    Parameters
    ----------
    text : str
        As it is written.
    """

    __slots__ = ("_folded", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        plain = unicodedata.is_normalized("NFKC", text)
        pieces = ((0, text),) if plain else _pieces(text)
        self._folded = [(first, *_fold(piece)) for first, piece in pieces]

    def occurrences(self, words: Collection[str]) -> list[Occurrence]:
        """Return where some words are in the text, in its order.

        A word is found however its letters are written; in a script with blanks between words as a
        whole run of letters or digits, in another one wherever its letters follow each other, so
        that occurrences may overlap there. Not found is a word that a rule of its language has
        changed, such as the dictionary form of a verb.

        Parameters
        ----------
        words : collection of str
            As `tokenizer.tokenize` returns them.

        >>> Searchable("A Car, scars.").occurrences({"car"})
        [(2, 5, 'car')]
        >>> Searchable("東京都のﾀﾜｰ").occurrences({"東京", "タワー"})
        [(0, 2, '東京'), (4, 7, 'タワー')]
        """
        matches: list[Occurrence] = []
        for first, folded, starts, ends in self._folded:
            for word in filter(None, words):
                size = len(word)
                if starts is None or ends is None:
                    matches += [
                        (first + begin, first + begin + size, word)
                        for begin in _positions(folded, word)
                    ]
                else:
                    matches += [
                        (first + starts[begin], first + ends[begin + size - 1], word)
                        for begin in _positions(folded, word)
                    ]
        return sorted(set(matches))


def occurrences(text: str, words: Collection[str]) -> list[Occurrence]:
    """Return where some words are in a text (`Searchable.occurrences`)."""
    return Searchable(text).occurrences(words)


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


def _positions(text: str, word: str) -> Iterator[int]:
    """Yield where a word begins in a folded text."""
    size, first, last = len(word), word[0], word[-1]
    start = text.find(word)
    while start >= 0:
        end = start + size
        if _apart(text[start - 1 : start], first) and _apart(text[end : end + 1], last):
            yield start
        start = text.find(word, start + 1)


def _apart(beside: str, letter: str) -> bool:
    """Tell whether a word can end between its letter and the character beside it."""
    if not beside.isalnum() and (beside.isascii() or unicodedata.category(beside)[0] != "M"):
        return True
    if beside.isascii() and letter.isascii():
        return False
    return bool(UNSPACED_LETTER.match(letter) or UNSPACED_LETTER.match(beside))
