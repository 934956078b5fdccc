"""The part of a text that has the words of a query, which a result shows."""

from __future__ import annotations

import re
from bisect import bisect
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from threading import Lock
from types import MappingProxyType
from typing import NamedTuple

from ssi_core.text.fields import HEADINGS, SEPARATOR, SHORT, TEXT
from ssi_core.text.occurrences import Occurrence, Searchable, Stemmed, stems_of
from ssi_core.text.tokenizer import UNSPACED_LETTER

WIDTH = 240
"""Characters of a snippet; half of them in a script whose letters are twice as wide."""

_SENTENCE_END = re.compile(r"[.!?…]\s|[。!?]")
_CUT = "…"
_LIGHT = 0.2
NOTHING: Mapping[str, float] = MappingProxyType({})


class Snippet(NamedTuple):
    """A part of a text, and the start and end of each word of the query in it, in characters.

    ``related`` are those of words that are related to the query's.
    """

    text: str
    marks: tuple[tuple[int, int], ...]
    related: tuple[tuple[int, int], ...] = ()


def snippet(text: str, words: Mapping[str, float], width: int = WIDTH) -> Snippet:
    """Return the part of a text with most of some words; its beginning where it has none of them.

    The part is that whose distinct words weigh most together; of several the one with the words
    nearest to each other, then the first. Words that weigh little beside the heaviest, such as
    articles, are left out. White space is one blank.

    Parameters
    ----------
    words : mapping
        Words of the query, as its language splits them, each with its weight.
    width : int
        Characters of the part, as `WIDTH` says.

    >>> snippet("A road. An old   CAR drives.", {"car": 2.0, "an": 0.1})
    Snippet(text='A road. An old CAR drives.', marks=((15, 18),), related=())
    """
    return snippet_of(searchable(text), words, width)


def searchable(text: str) -> Searchable:
    """Return a text in which white space is one blank, ready for `snippet_of`."""
    return Searchable(" ".join(text.split()))


def snippet_of(source: Searchable, words: Mapping[str, float], width: int = WIDTH) -> Snippet:
    """Return the `snippet` of a text that may be asked for again."""
    text = source.text
    words = _heavy(words, lambda: stems_of(text))
    width = _narrow(text, width)
    matches = source.occurrences(words)
    first, last = _best(matches, words, width)
    begin = _begin(text, first, last, width)
    end = _end(text, begin, last, width)
    before = _CUT if begin and not _SENTENCE_END.search(text[max(0, begin - 2) : begin]) else ""
    shift = len(before) - begin
    marks = _merged([(a + shift, b + shift) for a, b, _ in matches if begin <= a and b <= end])
    return Snippet(before + text[begin:end] + (_CUT if end < len(text) else ""), marks)


def beginning(text: str) -> Snippet:
    r"""Return the `snippet` of a text for no word, for which only its beginning is read.

    >>> beginning("An old\n car.")
    Snippet(text='An old car.', marks=(), related=())
    """
    first = " ".join(text[: 4 * WIDTH].split())
    if len(first) <= WIDTH:
        first = " ".join(text.split())
    end = _end(first, 0, 0, _narrow(first, WIDTH))
    return Snippet(first[:end] + (_CUT if end < len(first) else ""), ())


def _narrow(text: str, width: int) -> int:
    """Return half of the width for a text whose letters are twice as wide."""
    start = text[:WIDTH]
    if start.isascii():
        return width
    return width // 2 if len(UNSPACED_LETTER.findall(start)) > len(start) // 3 else width


class Shown:
    """A document as results show it, ready for any query.

    Parameters
    ----------
    fields : mapping
        All fields of the document (`ssi_core.text.fields`).
    url : str or None
        Its address.
    """

    def __init__(self, fields: Mapping[str, str], url: str | None = None) -> None:
        self.url, self._fields = url, fields
        self._size = sum(map(len, fields.values()))

    def __len__(self) -> int:
        """Return the characters of its fields."""
        return self._size

    @cached_property
    def _beginning(self) -> Snippet:
        return beginning(self._fields[TEXT])

    @cached_property
    def _text(self) -> Searchable:
        return searchable(self._fields[TEXT])

    @cached_property
    def _short(self) -> Searchable:
        return Searchable(SEPARATOR.join(self._fields[name] for name in SHORT))

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(self._fields[name]) + len(SEPARATOR) for name in SHORT))

    @cached_property
    def _stems(self) -> list[tuple[str, str]]:
        return stems_of(f"{self._text.text}\n{self._short.text}")

    def snippet(
        self, words: Mapping[str, float], related: Mapping[str, float] = NOTHING
    ) -> tuple[Snippet, tuple[str, ...]]:
        """Return what is shown for some words, and the fields that have any of them.

        A part of the text is shown; where that has none of the words and a heading has some, the
        heading; and where there is neither, the part with related words.

        Parameters
        ----------
        words : mapping
            As for `snippet`.
        related : mapping
            Other words, which are marked beside them, with their weights.

        >>> fields = dict.fromkeys(("headings", "url", "anchors"), "")
        >>> fields |= {"text": "An old car", "title": "A Car"}
        >>> Shown(fields).snippet({"car": 1.0})
        (Snippet(text='An old car', marks=((7, 10),), related=()), ('title', 'text'))
        """
        if not words and not related:
            return self._beginning, ()
        words = _heavy(words, lambda: self._stems)
        shown, having = snippet_of(self._text, words), self._having(words)
        if shown.marks:
            having.append(TEXT)
        elif HEADINGS in having:
            shown = max(
                (snippet(heading, words) for heading in self._fields[HEADINGS].split("\n")),
                key=lambda one: len(one.marks),
            )
        if not related:
            return shown, tuple(having)
        if not shown.marks:
            shown = snippet_of(self._text, _heavy(related, lambda: self._stems))
            return Snippet(shown.text, (), shown.marks), tuple(having)
        return shown._replace(related=_beside(shown, related)), tuple(having)

    def _having(self, words: Collection[str]) -> list[str]:
        found = {bisect(self._ends, start) for start, *_ in self._short.occurrences(words)}
        return [name for position, name in enumerate(SHORT) if position in found]


def _beside(shown: Snippet, related: Mapping[str, float]) -> tuple[tuple[int, int], ...]:
    """Return where related words stand in what is shown, apart from what is marked there."""
    marked = {position for mark in shown.marks for position in range(*mark)}
    words = _heavy(related, lambda: stems_of(shown.text))
    found = [(a, b) for a, b, _ in Searchable(shown.text).occurrences(words)]
    return _merged([(a, b) for a, b in found if marked.isdisjoint(range(a, b))])


class Recent:
    """The documents that were shown last, as many as `CHARACTERS` allow; any thread may ask."""

    CHARACTERS = 8_000_000

    def __init__(self) -> None:
        self._shown: OrderedDict[int, Shown] = OrderedDict()
        self._characters, self._turn = 0, Lock()

    def get(self, row: int, make: Callable[[], Shown]) -> Shown:
        """Return the document of a row, made unless it is still here."""
        with self._turn:
            if (known := self._shown.get(row)) is not None:
                self._shown.move_to_end(row)
                return known
        new = make()
        with self._turn:
            if row not in self._shown:
                self._shown[row] = new
                self._characters += len(new)
            while self._characters > self.CHARACTERS and len(self._shown) > 1:
                _, old = self._shown.popitem(last=False)
                self._characters -= len(old)
        return new


def _heavy(
    words: Mapping[str, float], stems: Callable[[], Sequence[tuple[str, str]]]
) -> dict[str, float]:
    """Return the words that do not weigh little beside the heaviest; of stems, those of a text."""
    heaviest = max(words.values(), default=0.0)
    heavy = {word: weight for word, weight in words.items() if weight >= _LIGHT * heaviest}
    if not isinstance(words, Stemmed):
        return heavy
    return {word: heavy[stem] for word, stem in stems() if stem in heavy}


def _best(found: Sequence[Occurrence], words: Mapping[str, float], width: int) -> tuple[int, int]:
    """Return the first and last character of the best group of words."""
    best, span = (-1.0, 0), (0, 0)
    for number, (start, *_) in enumerate(found):
        inside: set[str] = set()
        worth, last = 0.0, start
        for _, end, word in found[number:]:
            if end > start + width and inside:
                break
            if word not in inside:
                inside.add(word)
                worth, last = worth + words[word], end
        if (worth, start - last) > best:
            best, span = (worth, start - last), (start, last)
    return span


def _begin(text: str, first: int, last: int, width: int) -> int:
    """Return the beginning of the snippet, at a sentence or a word."""
    room = max(0, width - (last - first))
    if first <= room // 2:
        return 0
    around = text[first - room // 2 : first]
    sentences = list(_SENTENCE_END.finditer(around))
    if sentences:
        return first - len(around) + sentences[0].end()
    blank = around.find(" ")
    return first - len(around) + blank + 1 if blank >= 0 else first - len(around) // 2


def _end(text: str, begin: int, last: int, width: int) -> int:
    """Return the end of the snippet, not within a word."""
    end = min(len(text), max(last, begin + width))
    blank = text.rfind(" ", max(last, end - width // 4), end)
    return end if end == len(text) or text[end] == " " or blank < 0 else blank


def _merged(marks: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in marks:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)
