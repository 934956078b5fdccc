"""A site's search in Python: it reads the files and ranks as ``search.js`` does, to the last bit.

All arithmetic is that of float64, one operation after the other in the order of the program.
"""

from __future__ import annotations

import base64
import json
import math
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.guests.site.clusters import NEAREST
from ssi_core.guests.site.matching import OTHER, STEPS, weights_of
from ssi_core.guests.site.records import Word, unpack_group, unpack_vectors, unpack_words
from ssi_core.guests.site.writing import FORMAT, MANIFEST, is_site
from ssi_core.serving.query_words import without_accents
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Float32, Float64, Int32
from ssi_core.views.phrases import NEAR

_LANGUAGES = {"words": "en", "any": "", "ideographs": "zh", "pairs": "th", "marked": "hi"}
"""Name of a rule in ``words.js`` -> a language that is split by it."""
_MOST_CHUNKS = 4
"""Chunks of words that may begin with what is typed; beyond, it is too short to tell."""
_BESIDE = 0.3
"""Weight of a longer word where what is typed is a word, too."""


class SiteIndex:
    """The files that ``ssi site`` has written, opened.

    Parameters
    ----------
    directory : Path
        Their directory.

    Raises
    ------
    BadInput
        It holds no such files, or those of another version.
    """

    def __init__(self, directory: Path) -> None:
        if not is_site(directory):
            raise BadInput(f"{directory} holds no search of a site. Write one: ssi site FOLDER")
        self.path = directory
        [self.manifest] = self._values(MANIFEST)
        if self.manifest["format"] != FORMAT:
            raise BadInput(f"{directory} was written by another version of ssi. Write it again.")
        self._words: dict[int, Mapping[str, Word]] = {}
        self._groups: dict[int, tuple[Int32, Float32, NDArray[np.int8]]] = {}

    def __len__(self) -> int:
        return int(self.manifest["pages"])

    @cached_property
    def pages(self) -> Sequence[tuple[str, str, str]]:
        """Title, address and text of each page."""
        parts = range(len(self.manifest["firstPages"]))
        return [tuple(page) for number in parts for page in self._values(f"p{number}")[0]]

    @cached_property
    def _centers(self) -> tuple[Float32, NDArray[np.int8]]:
        centers = base64.b64decode(self.manifest["centers"])
        return unpack_vectors(centers, self.manifest["dimensions"])

    def _group(self, number: int) -> tuple[Int32, Float32, NDArray[np.int8]]:
        if number not in self._groups:
            [text] = self._values(f"v{number}")
            data = base64.b64decode(text)
            self._groups[number] = unpack_group(data, self.manifest["dimensions"])
        return self._groups[number]

    def rank(self, text: str, *, typing: bool = False) -> list[tuple[int, float]]:
        """Return the pages of a positive score, the best first; of equal ones the first.

        Parameters
        ----------
        text : str
            The query.
        typing : bool
            Whether the last word is still typed, so that it stands for all words that begin so.
        """
        counts, start = self._read(text, typing)
        words = [self.word(name) for name in counts]
        scores = np.zeros(len(self))
        k3 = self.manifest["k3"]
        for n, word in zip(counts.values(), words, strict=True):
            if word is not None:
                scores[word.pages] += (((k3 + 1) * n) / (k3 + n)) * word.scale * word.weights
        whole = None if start is None else self.word(start)
        completed: Sequence[tuple[Word, float]] = ()
        if start is not None:
            completed = self._completions(start) or ([] if whole is None else [(whole, 1.0)])
            scores += self._best(completed)
        self._match([word for word in words if word is not None], whole, completed, scores)
        if self.manifest["dimensions"]:
            self._add_latent([*words, whole], scores)
        order = np.argsort(-scores, kind="stable")
        return [(int(page), float(scores[page])) for page in order if scores[page] > 0]

    def word(self, name: str) -> Word | None:
        """Return a word, or that without its accents; None where no page has either."""
        found = self._words_in(self._chunk_of(name)).get(name)
        plain = without_accents(name)
        return found if found or plain == name else self.word(plain)

    def _read(self, text: str, typing: bool) -> tuple[Mapping[str, int], str | None]:
        names = tokenize(text, _LANGUAGES[self.manifest["rule"]])
        ends = text[-1:] and unicodedata.category(text[-1])[0] in "LNM"
        unfinished = typing and bool(names) and bool(ends)
        start = names.pop() if unfinished else None
        return Counter(names), start

    def _chunk_of(self, name: str) -> int:
        key = name.encode("utf-16-be")
        return max(0, bisect_right(self._firsts, key) - 1)

    @cached_property
    def _firsts(self) -> Sequence[bytes]:
        return [word.encode("utf-16-be") for word in self.manifest["firstWords"]]

    def _words_in(self, number: int) -> Mapping[str, Word]:
        if number not in self._words:
            names, text = self._values(f"w{number}")
            several = names.split(" ")
            data = base64.b64decode(text)
            records = unpack_words(data, len(several), self.manifest["dimensions"])
            self._words[number] = dict(zip(several, records, strict=True))
        return self._words[number]

    def _completions(self, start: str) -> list[tuple[Word, float]]:
        firsts, first = self.manifest["firstWords"], self._chunk_of(start)
        last = first
        while last + 1 < len(firsts) and firsts[last + 1].startswith(start):
            last += 1
        if last - first >= _MOST_CHUNKS:
            return []
        found = {
            name: word
            for number in range(first, last + 1)
            for name, word in self._words_in(number).items()
            if name.startswith(start)
        }
        beside = _BESIDE if start in found else 1
        return [
            (word, 1.0 if name == start else len(start) / len(name) * beside)
            for name, word in found.items()
        ]

    def _best(self, completed: Sequence[tuple[Word, float]]) -> Float64:
        best = np.zeros(len(self))
        for word, weight in completed:
            best[word.pages] = np.maximum(best[word.pages], weight * word.scale * word.weights)
        return best

    def _match(
        self,
        words: Sequence[Word],
        whole: Word | None,
        completed: Sequence[tuple[Word, float]],
        scores: Float64,
    ) -> None:
        """Apply `matching` to scores; a completion is the last word, of the least weight."""
        asked, got, names = 0, np.zeros(len(self)), _Common()
        for word in words:
            asked += word.weight
            got[word.pages] += word.weight
            names.add([word], word.weight)
        if completed:
            last = min(word.weight for word, _ in completed) if whole is None else whole.weight
            asked += last
            got[np.unique(np.concatenate([word.pages for word, _ in completed]))] += last
            names.add([word for word, _ in completed], last)
        if not asked:
            return
        share = got / asked
        scores += names.phrases(len(self))
        scores *= share * share * (1 + names.best(asked, len(self)))

    def _add_latent(self, words: Sequence[Word | None], scores: Float64) -> None:
        query, squares = np.zeros(self.manifest["dimensions"]), 0.0
        for word in words:
            if word is not None and word.row is not None:
                squares += word.idf * word.idf
                query += word.row_scale * word.row.astype(np.float64)
        if not squares:
            return
        near = _products(query, *self._centers)
        for number in np.argsort(-near, kind="stable")[:NEAREST]:
            pages, scale, rows = self._group(int(number))
            scores[pages] += _products(query, scale, rows) / math.sqrt(squares)

    def _values(self, name: str) -> list[Any]:
        text = (self.path / f"{name}.js").read_text(encoding="utf-8")
        values: list[Any] = json.loads(f"[{text[len('ssi.chunk(') : text.rindex(')')]}]")
        return values[1:]


def _products(query: Float64, scale: Float32, rows: NDArray[np.int8]) -> Float64:
    product = np.zeros(len(rows))
    for k, value in enumerate(query):  # the order of the program: a sum of numpy has another
        product += value * rows[:, k].astype(np.float64)
    return product * scale.astype(np.float64)


def _around(positions: int) -> int:
    """Return the places near some places, each of which is a bit."""
    around = 0
    for step in range(1, NEAR + 1):
        around |= positions << step | positions >> step
    return around


class _Common:
    """What names have in common with a query."""

    def __init__(self) -> None:
        self._weights: dict[int, int] = {}
        self._of: dict[int, tuple[int, int, bool]] = {}
        self._positions: list[dict[int, int]] = []

    def add(self, words: Sequence[Word], weight: int) -> None:
        """Add a word that stands for some words, to a name at most the weight of the one it has."""
        found: dict[int, int] = {}
        positions: dict[int, int] = {}
        for word in words:
            called, least = word.called, min(weight, word.weight)
            numbers = called.numbers.tolist()
            of = (called.pages.tolist(), called.totals.tolist(), called.titles.tolist())
            self._of |= zip(numbers, zip(*of, strict=True), strict=True)
            for number, position in zip(numbers, called.positions.tolist(), strict=True):
                found[number] = max(found.get(number, 0), least)
                positions[number] = positions.get(number, 0) | 1 << position
        self._positions.append(positions)
        for number, least in found.items():
            self._weights[number] = self._weights.get(number, 0) + least

    def phrases(self, pages: int) -> Float64:
        """Return what pairs of words that are near each other in a name add to each page."""
        found = np.zeros(pages)
        for one, other in combinations(self._positions, 2):
            near = {
                self._of[number][0]
                for number, positions in one.items()
                if _around(positions) & other.get(number, 0)
            }
            found[[*near]] += weights_of(np.array(len(near)), pages)
        return found / (STEPS * max(1, len(self._positions) - 1))

    def best(self, asked: int, pages: int) -> Float64:
        """Return the most that a name gives each page."""
        best = np.zeros(pages)
        for number, common in self._weights.items():
            page, total, is_title = self._of[number]
            alike = common / (asked + total - common)
            best[page] = max(best[page], alike if is_title else alike * OTHER)
        return best
