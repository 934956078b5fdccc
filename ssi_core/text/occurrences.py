"""Where words are in a text as it is written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator

from ssi_core.text.tokenizer import UNSPACED_LETTER, marked_run, scripts

# A character and the marks that sit on it, those of half-width kana too.
_CLUSTER = re.compile(r".[\u0300-\u036f\u3099\u309a\uff9e\uff9f]*", re.DOTALL)

# A part of a text, which ends between words if any do: only parts that are not plain take time.
_PIECE = re.compile(r".{1,400}(?=[\s.,;:!?、。])|.{1,400}", re.DOTALL)

Occurrence = tuple[int, int, str]
"""Start, end and word."""


def occurrences(text: str, words: Collection[str]) -> list[Occurrence]:
    """Return where some words are in a text, in its order.

    A word is found however its letters are written; in a script with blanks between words as a
    whole run of letters or digits, in another one wherever its letters follow each other, so that
    occurrences may overlap there. Not found is a word that a rule of its language has changed, such
    as the dictionary form of a verb.

    Parameters
    ----------
    words : as `tokenizer.tokenize` returns them

    >>> occurrences("A Car, scars.", {"car"}), occurrences("東京都のﾀﾜｰ", {"東京", "タワー"})
    ([(2, 5, 'car')], [(0, 2, '東京'), (4, 7, 'タワー')])
    """
    wanted = frozenset(words)
    found: list[Occurrence] = []
    for piece in _PIECE.finditer(text) if wanted else ():
        folded, starts, ends = _fold(piece.group())
        first = piece.start()
        for begin, stop, word in _in_runs(folded, wanted):
            if starts is not None and ends is not None:
                begin, stop = starts[begin], ends[stop - 1]
            found.append((first + begin, first + stop, word))
    return found


def _fold(text: str) -> tuple[str, list[int] | None, list[int] | None]:
    """Return a text in NFKC and lower case, and where its characters are in the text if moved."""
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


def _in_runs(text: str, words: frozenset[str]) -> Iterator[Occurrence]:
    if not UNSPACED_LETTER.search(text):
        for run in marked_run().finditer(text):
            if run.group() in words:
                yield run.start(), run.end(), run.group()
        return
    lengths = sorted({len(word) for word in words if UNSPACED_LETTER.search(word)})
    for run in scripts().finditer(text):
        if run.lastgroup != "unspaced":
            if run.group() in words:
                yield run.start(), run.end(), run.group()
            continue
        for start in range(run.start(), run.end()):
            for end in (start + length for length in lengths if start + length <= run.end()):
                if text[start:end] in words:
                    yield start, end, text[start:end]
