"""How far a page answers a whole query: the words that it has, and the names that it goes by.

To the sum of a query's words are added its phrases, and both are multiplied by m::

    p(q, d) = sum of a_ij over the pairs of words of q that are near each other in a name of d
              / (words of q - 1)
    m(q, d) = (sum of a_i over the words of q in d / sum over q)^2 * (1 + max_n w_n J(q, n))
    J(q, n) = sum of a_i over the words in both / sum over those in either

Names n of a page are its title, its headings and the words of links to it; ``w_n`` is 1 for a
title. Weights ``a_i`` and ``a_ij`` are idf in whole steps, so that a browser has the same sums.
Words that no page has count for nothing. The two numbers below were chosen on three sites: words of
links left out one by one, titles and headings without some of their words, words of one sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.text.tokenizer import tokenize
from ssi_core.types import Float64, Int32, TextMatrix
from ssi_core.views.phrases import NEAR

OTHER = 0.8
"""Weight of a name that is no title."""
POWER = 2
"""Power of the share of a query's words."""
STEPS = 16
"""Steps of an idf of 1."""
_MOST_PAGES = 3
"""Pages that may have a heading; one such as "See also" names none."""
_MOST_WORDS = 12


@dataclass(frozen=True)
class Names:
    """Names of pages, ascending by page.

    Attributes
    ----------
    pages : int32 (names,)
        The page of each.
    titles : bool (names,)
        Whether it is a title.
    words : sequence of tuple of str
        Its words in their order, each once.
    """

    pages: Int32
    titles: NDArray[np.bool_]
    words: Sequence[tuple[str, ...]]


def names_of(fields: pl.DataFrame, language: str) -> Names:
    """Return the names of pages, each once.

    Parameters
    ----------
    fields : DataFrame
        Columns title, headings, anchors: a row for each page, with a name a line.
    language : str
        Code of the language.
    """
    named = naming(fields["headings"])
    found = []
    for page, (titles, headings, anchors) in enumerate(
        zip(fields["title"], named, fields["anchors"], strict=True)
    ):
        seen = set()
        lines = [(line, True) for line in titles.split("\n")]
        lines += [(line, False) for line in (*headings, *anchors.split("\n"))]
        for line, is_title in lines:
            words = tuple(dict.fromkeys(tokenize(line, language)))
            bag = frozenset(words)
            if 0 < len(words) <= _MOST_WORDS and bag not in seen:
                seen.add(bag)
                found.append((page, is_title, words))
    return Names(
        np.array([page for page, *_ in found], np.int32),
        np.array([is_title for _, is_title, _ in found], np.bool_),
        [words for *_, words in found],
    )


def naming(headings: Iterable[str]) -> Iterator[list[str]]:
    """Yield those headings of each page that few pages have."""
    pages = [[line for line in several.split("\n") if line.strip()] for several in headings]
    counts = Counter(heading for lines in pages for heading in {line.lower() for line in lines})
    for lines in pages:
        yield [line for line in lines if counts[line.lower()] <= _MOST_PAGES]


def weights_of(pages_with: NDArray[np.integer], pages: int) -> NDArray[np.uint8]:
    """Return the weights of words that some of the pages have."""
    idf = np.log1p((pages - pages_with + 0.5) / (pages_with + 0.5))
    weights: NDArray[np.uint8] = np.clip(np.rint(STEPS * idf), 1, 255).astype(np.uint8)
    return weights


class Matching:
    """The phrases and factors of all pages, for one query after another.

    Parameters
    ----------
    words : sequence of str
        Words of the columns of ``exact``.
    exact : CSR (pages, words)
        Stores something where a page has a word.
    names : Names
        Names of the pages.
    """

    def __init__(self, words: Sequence[str], exact: TextMatrix, names: Names) -> None:
        self._pages = exact.tocsc()
        self.weights = weights_of(np.diff(self._pages.indptr), exact.shape[0])
        self.names = names
        self.columns: Mapping[str, int] = {word: column for column, word in enumerate(words)}

    @cached_property
    def words_of_names(self) -> sparse.csc_array:
        """Places of the words in the names, with zeros, int32 (names, words), sorted indices."""
        cells = [
            (row, self.columns[word], position)
            for row, words in enumerate(self.names.words)
            for position, word in enumerate(words)
            if word in self.columns
        ]
        rows, columns, positions = np.array(cells, np.int32).reshape(-1, 3).T
        shape = (len(self.names.words), len(self.columns))
        found = sparse.csc_array((positions, (rows, columns)), shape)
        found.sort_indices()
        return found

    @cached_property
    def totals(self) -> Int32:
        """Sum of the weights of the words of each name."""
        of_names = self.words_of_names
        weights = np.repeat(self.weights, np.diff(of_names.indptr))
        totals = np.bincount(of_names.indices, weights, len(self.names.words))
        return totals.astype(np.int32)

    def scores(self, sums: Float64, words: Iterable[str]) -> Float64:
        """Return the scores of pages, of the sums that the words of a query give them."""
        asked = [*dict.fromkeys(words)]
        return (sums + self.phrases(asked)) * self.factors(asked)

    def phrases(self, words: Iterable[str]) -> Float64:
        """Return what the phrases of a query, whose words are distinct, add to each page."""
        found = np.zeros(self._pages.shape[0])
        known = [self.columns[word] for word in words if word in self.columns]
        for one, other in combinations(known, 2):
            (first, positions), (second, others) = map(self.positions, (one, other))
            names, i, j = np.intersect1d(first, second, assume_unique=True, return_indices=True)
            near = names[np.abs(positions[i] - others[j]) <= NEAR]
            pages = np.unique(self.names.pages[near])
            found[pages] += weights_of(np.array(len(pages)), len(found))
        return found / (STEPS * max(1, len(known) - 1))

    def positions(self, column: int) -> tuple[Int32, Int32]:
        """Return the names that have a word, and its place in each."""
        begin, end = self.words_of_names.indptr[column : column + 2]
        return self.words_of_names.indices[begin:end], self.words_of_names.data[begin:end]

    def factors(self, words: Iterable[str]) -> Float64:
        """Return the factor of each page for the words of a query."""
        known = [self.columns[word] for word in {*words} if word in self.columns]
        got = np.zeros(self._pages.shape[0])
        common = np.zeros(len(self.totals))
        for column in known:
            got[_rows(self._pages, column)] += self.weights[column]
            common[_rows(self.words_of_names, column)] += self.weights[column]
        asked = self.weights[known].sum(dtype=np.int64)
        if not asked:
            return got
        best = np.zeros(len(got))
        reached = np.flatnonzero(common)
        alike = common[reached] / (asked + self.totals[reached] - common[reached])
        alike = np.where(self.names.titles[reached], alike, alike * OTHER)
        np.maximum.at(best, self.names.pages[reached], alike)
        factors: Float64 = (got / asked) ** POWER * (1 + best)
        return factors


def _rows(matrix: sparse.csc_array, column: int) -> Int32:
    begin, end = matrix.indptr[column : column + 2]
    rows: Int32 = matrix.indices[begin:end]
    return rows
