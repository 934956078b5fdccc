"""Split a text into sentences, in scripts with blanks between words and in Japanese."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLOCK = re.compile(r"\n\s*\n")
# The mark begins no run of marks a second time, so that a long run takes one look.
_END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|$)"
    r"|[。！？]+[」』）”]*"
)
_MARKS, _CLOSING = ".!?…。！？", "\"'”’»)]」』）"
_TITLES = "mr mrs ms dr prof st jr sr gen col lt capt sgt sen rep gov hon rev"
_SHORT = "vs e.g i.e cf fig vol pp ca approx inc ltd co corp u.s u.k a.m p.m b.c a.d"
_MONTHS = "jan feb mar apr jun jul aug sep sept oct nov dec"
_ABBREVIATIONS = frozenset(f"{_TITLES} {_SHORT} {_MONTHS}".split())


def sentences(text: str) -> list[str]:
    r"""Return the sentences of a text, each with one blank for a run of white space.

    A sentence ends with ``. ! ? …`` before white space, or with ``。！？``, and at an empty line.
    A full stop ends none after an abbreviation (``Dr.``, ``e.g.``), after the initial of a name
    (``J. Smith``), or where a small letter follows, unless a blank is before it, too, as in texts
    whose words are split already. What an empty line ends without such a mark is a heading or a
    caption, and is left out where any sentence has one.

    Parameters
    ----------
    text : str
        Plain text; a single end of line is white space.

    >>> sentences("History\n\nDr. A. Smith came at\nnoon. Did he? 猫がいる。「本だ。」と言った。")
    ['Dr. A. Smith came at noon.', 'Did he?', '猫がいる。', '「本だ。」と言った。']
    """
    pieces = [piece for block in _BLOCK.split(text) for piece in _of_block(" ".join(block.split()))]
    marked = [piece for piece in pieces if piece.rstrip(_CLOSING).endswith(tuple(_MARKS))]
    return marked or pieces


def _of_block(block: str) -> Iterator[str]:
    begin = 0
    for match in _END.finditer(block):
        if _ends(block, begin, match):
            yield block[begin : match.end()].strip()
            begin = match.end()
    if rest := block[begin:].strip():
        yield rest


def _ends(block: str, begin: int, match: re.Match[str]) -> bool:
    """Tell whether a mark is the end of a sentence that begins at a place."""
    after = block[match.end() : match.end() + 2].lstrip()
    if match[0][0] in "。！？":
        # What is quoted goes on: 「...。」と言った。
        return match[0][-1] not in "」』）”" or not after or after[0] not in "とのはがをにで、"
    if block[match.start() - 1 : match.start()] == " ":
        return True
    if after[:1].islower():
        return False
    if match[0] != ".":
        return True
    blank = block.rfind(" ", begin, match.start())
    word = block[max(begin, blank + 1) : match.start()]
    bare = word.lstrip("(\"'“‘[").lower()
    return bare not in _ABBREVIATIONS and not (len(bare) == 1 and bare.isalpha() and bare != "i")
