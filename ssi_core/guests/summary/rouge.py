"""ROUGE: how much of a reference a summary has, by n-grams, subsequences and pairs of words.

Source: C.-Y. Lin, ROUGE: A package for automatic evaluation of summaries (2004), with the words of
ROUGE-1.5.5: small letters a to z and digits, runs of all else are a blank. With stems (option -m)
words of more than three letters are cut by Porter's algorithm; ROUGE-1.5.5 has exceptions of
WordNet beside it, which are not here. One reference; all counts are clipped.

===========  ==========================================================================
measure      units
===========  ==========================================================================
``rouge1``   words
``rouge2``   pairs of neighbours
``rougel``   words of the union of longest common subsequences, for each sentence of the
             reference over all of the summary (``rougeLsum`` of rouge-score)
``rougelt``  the longest common subsequence of the whole texts (its ``rougeL``)
``rougesu``  words, and ordered pairs with at most four words between them (SU4)
===========  ==========================================================================
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssi_core.guests.summary.kernels.lcs import mark_common
from ssi_core.text.porter import stem
from ssi_core.types import Int64

TITLES = {
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougel": "ROUGE-L",
    "rougelt": "ROUGE-L of whole texts",
    "rougesu": "ROUGE-SU4",
}
"""Measure -> its name for people."""

_BETWEEN = re.compile(r"[^a-z0-9]+")
_SHORTEST_STEMMED = 4
_GAP = 4


class Overlap(NamedTuple):
    """Share of the summary's units that the reference has, the reverse, and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def words_of(text: str, stems: bool) -> list[str]:
    """Split a text into the words of ROUGE-1.5.5.

    >>> words_of("Ships' well-known HARBOURS.", stems=True)
    ['ship', 'well', 'known', 'harbour']
    """
    words = _BETWEEN.sub(" ", text.lower()).split()
    if not stems:
        return words
    return [stem(word) if len(word) >= _SHORTEST_STEMMED else word for word in words]


def rouge(
    summary: Sequence[str], reference: Sequence[str], *, stems: bool, words: int | None = None
) -> dict[str, Overlap]:
    """Return each measure of `TITLES` for a summary.

    Parameters
    ----------
    summary, reference : sequence of str
        Sentences.
    stems : bool
        Cut words to their stems.
    words : int, optional
        The first words of the summary that count (option -l); else all.
    """
    numbers: dict[str, int] = {}
    split = [[words_of(one, stems) for one in side] for side in (summary, reference)]
    if words is not None:
        split[0] = first_words(split[0], words)
    ours, theirs = (
        [
            np.array([numbers.setdefault(word, len(numbers)) for word in sentence], np.int64)
            for sentence in side
        ]
        for side in split
    )
    flat, wanted = _joined(ours), _joined(theirs)
    count = len(numbers) + 1
    pairs = _grams(flat, count, 1), _grams(wanted, count, 1)
    return {
        "rouge1": _overlap(*_clipped(flat, wanted)),
        "rouge2": _overlap(*_clipped(*pairs)),
        "rougel": _overlap(_union(ours, theirs), len(flat), len(wanted)),
        "rougelt": _overlap(_union([flat], [wanted]), len(flat), len(wanted)),
        "rougesu": _overlap(*_clipped(_skipped(flat, count), _skipped(wanted, count))),
    }


def first_words(sentences: Sequence[Sequence[str]], words: int) -> list[list[str]]:
    """Return sentences of which the last is cut where so many words are reached.

    >>> first_words([["a", "b"], ["c", "d"], ["e"]], 3)
    [['a', 'b'], ['c']]
    """
    cut: list[list[str]] = []
    for sentence in sentences:
        if words <= 0:
            break
        cut.append(list(sentence[:words]))
        words -= len(cut[-1])
    return cut


def _joined(parts: Sequence[Int64]) -> Int64:
    return np.concatenate([np.empty(0, np.int64), *parts])


def _grams(words: Int64, count: int, distance: int) -> Int64:
    """Return a number for each pair of words at a distance; no pair has the number of a word."""
    return (words[:-distance] + 1) * count + words[distance:]


def _skipped(words: Int64, count: int) -> Int64:
    return _joined([words, *(_grams(words, count, distance) for distance in range(1, _GAP + 2))])


def _clipped(ours: Int64, theirs: Int64) -> tuple[int, int, int]:
    """Return common units, each as often as both have it, and the units of either side."""
    one, other = (
        dict(zip(*np.unique(side, return_counts=True), strict=True)) for side in (ours, theirs)
    )
    common = sum(int(min(times, other[unit])) for unit, times in one.items() if unit in other)
    return common, len(ours), len(theirs)


def _union(ours: Sequence[Int64], theirs: Sequence[Int64]) -> int:
    """Count the words of the reference that some sentence of the summary has in their order.

    A word counts as often as both texts have it, at most.
    """
    longest = [max((len(one) for one in side), default=0) + 1 for side in (theirs, ours)]
    lengths: NDArray[np.int32] = np.empty(longest, np.int32)
    left = Counter(_joined(ours).tolist()), Counter(_joined(theirs).tolist())
    hits = 0
    for wanted in theirs:
        marked = np.zeros(len(wanted), np.bool_)
        for sentence in ours:
            mark_common(wanted, sentence, lengths, marked)
        for word in wanted[marked].tolist():
            if left[0][word] > 0 and left[1][word] > 0:
                hits += 1
                left[0][word] -= 1
                left[1][word] -= 1
    return hits


def _overlap(common: int, ours: int, theirs: int) -> Overlap:
    precision, recall = common / max(ours, 1), common / max(theirs, 1)
    both = precision + recall
    return Overlap(precision, recall, 2 * precision * recall / both if both else 0.0)
