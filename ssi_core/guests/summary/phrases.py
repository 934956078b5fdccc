"""Phrases in texts: runs of words that are names of concepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

LONGEST = 10
"""Words of the longest phrase."""


class Phrases:
    """Phrases to be found, by their numbers.

    Parameters
    ----------
    numbers : mapping
        Phrase, its words with blanks between them, -> its number.

    >>> phrases = Phrases({"kyoto": 0, "kyoto protocol": 1, "protocol": 2})
    >>> list(phrases.longest("the kyoto protocol of kyoto".split(), lambda number: True))
    [1, 0]
    >>> sorted(phrases.every("the kyoto protocol".split()))
    [0, 1, 2]
    """

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        lengths: dict[str, set[int]] = {}
        for phrase in numbers:
            words = phrase.split(" ")
            lengths.setdefault(words[0], set()).add(len(words))
        self._lengths = {word: sorted(each, reverse=True) for word, each in lengths.items()}

    def every(self, words: Sequence[str]) -> set[int]:
        """Return the phrases that occur among words, those inside of others too."""
        numbers = set()
        for position, word in enumerate(words):
            for length in self._lengths.get(word, ()):
                number = self._at(words, position, length)
                if number is not None:
                    numbers.add(number)
        return numbers

    def longest(self, words: Sequence[str], accepted: Callable[[int], bool]) -> Iterator[int]:
        """Yield from left to right the longest accepted phrase at a place, then go on behind it."""
        position = 0
        while position < len(words):
            step = 1
            for length in self._lengths.get(words[position], ()):
                number = self._at(words, position, length)
                if number is not None and accepted(number):
                    yield number
                    step = length
                    break
            position += step

    def _at(self, words: Sequence[str], position: int, length: int) -> int | None:
        if length == 1:
            return self._numbers.get(words[position])
        return self._numbers.get(" ".join(words[position : position + length]))
