"""The part of a text that has the words of a query, which a result shows."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from ssi_core.text.fields import HEADINGS, SEPARATOR, SHORT, TEXT
from ssi_core.text.occurrences import Occurrence, Stemmed, occurrences
from ssi_core.text.tokenizer import UNSPACED_LETTER

WIDTH = 240
"""Characters of a snippet; half of them in a script whose letters are twice as wide."""

_SENTENCE_END = re.compile(r"[.!?…]\s|[。!?]")
_CUT = "…"
_LIGHT = 0.2


class Snippet(NamedTuple):
    """A part of a text, and the start and end of each word of the query in it, in characters."""

    text: str
    marks: tuple[tuple[int, int], ...]


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
    Snippet(text='A road. An old CAR drives.', marks=((15, 18),))
    """
    text = " ".join(text.split())
    words = _heavy(words, text)
    wide = len(UNSPACED_LETTER.findall(text[:WIDTH])) > len(text[:WIDTH]) // 3
    width = width // 2 if wide else width
    matches = occurrences(text, words)
    first, last = _best(matches, words, width)
    begin = _begin(text, first, last, width)
    end = _end(text, begin, last, width)
    before = _CUT if begin and not _SENTENCE_END.search(text[max(0, begin - 2) : begin]) else ""
    shift = len(before) - begin
    marks = _merged([(a + shift, b + shift) for a, b, _ in matches if begin <= a and b <= end])
    return Snippet(before + text[begin:end] + (_CUT if end < len(text) else ""), marks)


def fielded_snippet(
    fields: Mapping[str, str], words: Mapping[str, float]
) -> tuple[Snippet, tuple[str, ...]]:
    """Return what is shown of a document, and its fields that have words of a query.

    A part of its text is shown; where that has none of the words and a heading has, the heading.

    Parameters
    ----------
    fields : mapping
        All fields of a document (`ssi_core.text.fields`).
    words : mapping
        As for `snippet`.
    """
    words = _heavy(words, "\n".join(fields.values()))
    shown = snippet(fields[TEXT], words)
    having = list(words_by_field({name: fields[name] for name in SHORT}, words))
    if shown.marks:
        having.append(TEXT)
    elif HEADINGS in having:
        shown = max(
            (snippet(heading, words) for heading in fields[HEADINGS].split("\n")),
            key=lambda one: len(one.marks),
        )
    return shown, tuple(having)


def words_by_field(fields: Mapping[str, str], words: Collection[str]) -> dict[str, set[str]]:
    """Return the fields that have some of the words, in their order, and which.

    >>> words_by_field({"title": "A Car", "url": "", "text": "An old car"}, {"car", "road"})
    {'title': {'car'}, 'text': {'car'}}
    """
    ends = list(accumulate(len(text) + len(SEPARATOR) for text in fields.values()))
    having: dict[str, set[str]] = {name: set() for name in fields}
    names = list(fields)
    for start, _, word in occurrences(SEPARATOR.join(fields.values()), words):
        having[names[bisect(ends, start)]].add(word)
    return {name: known for name, known in having.items() if known}


def _heavy(words: Mapping[str, float], text: str) -> dict[str, float]:
    """Drop words of little weight; of stems, return the forms in the text."""
    heaviest = max(words.values(), default=0.0)
    heavy = {word: weight for word, weight in words.items() if weight >= _LIGHT * heaviest}
    return Stemmed(heavy).words_in(text) if isinstance(words, Stemmed) else heavy


def _best(found: Sequence[Occurrence], words: Mapping[str, float], width: int) -> tuple[int, int]:
    """Return the first and last character of the best group of words."""
    best, place = (-1.0, 0), (0, 0)
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
            best, place = (worth, start - last), (start, last)
    return place


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
