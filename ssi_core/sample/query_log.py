"""A made query log whose truth is known, at any size: clicks on titles, and graded lists.

A topic has concepts. A concept has words that titles use and others that queries use: a query says
a concept in its own words with the probability ``gap``, else in those of the titles. Words,
concepts and topics are drawn by Zipf's law. A title is of one main concept and up to two others,
mostly of its topic; a query is of one concept or two of a topic.

How relevant a title is to a query is a grade that follows from these alone, see `grades_of`. A
search engine that knows it roughly shows `RESULTS` titles; the one at position k is looked at with
the probability ``1 / k``, and looked at, it is clicked with `CLICKED` of its grade. A pair is kept
if it was clicked, and clicked in more than `LEAST` of its expected looks: clicks, showings and
positions count, as in Gao, Toutanova and Yih (2011).

Judged queries are drawn alike. Their titles are a fifth of all, which no click ever finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]

CONCEPTS = 20
"""Concepts of a topic."""
WORDS = 4
"""Words of a concept on each side."""
RESULTS = 10
CANDIDATES = 15
"""Titles of a judged list."""
CLICKED = (0.02, 0.08, 0.2, 0.4, 0.6)
"""Probability of a click on a title that is looked at, by its grade."""
LEAST = 0.1
PLACES = np.arange(1, RESULTS + 1)
"""Positions of a page of results; one is looked at with the probability 1 / position."""

_GENERAL = 200  # words without a meaning, of both sides
_MOST = 1000  # showings of the most frequent query
_AT_ONCE = 50_000  # queries
_PART = 5  # one title in so many is for judgements
_NOISE = 1.5  # of the search engine, in grades
_ELSEWHERE = 0.1  # concepts of a title that are of another topic
_SECOND = 0.5  # queries of two concepts
_SYLLABLES = [a + b for a in "bdfghklmnprstvz" for b in "aeiou"]


def word_of(number: int) -> str:
    """Return the word of a number; different numbers have different words.

    >>> word_of(0), word_of(75), word_of(76)
    ('baba', 'beba', 'bebe')
    """
    high, low = divmod(number, len(_SYLLABLES))
    head = word_of(high) if high >= len(_SYLLABLES) else _SYLLABLES[high]
    return head + _SYLLABLES[low]


def _zipf(generator: np.random.Generator, size: Any, number: int) -> Ints:
    """Draw numbers below ``number``, the k-th with a weight of 1 / k."""
    bounds = np.cumsum(1 / np.arange(1, number + 1))
    drawn: Ints = np.searchsorted(bounds, generator.random(size) * bounds[-1])
    return drawn.clip(max=number - 1)


@dataclass(frozen=True)
class Titles:
    """Titles by their concepts: a row is a title; of its concepts -1 is none, the first is main."""

    concepts: Ints
    words: Ints

    @cached_property
    def by_concept(self) -> Ints:
        """Return the titles in the order of their main concepts."""
        return np.argsort(self.concepts[:, 0], kind="stable")

    @cached_property
    def mains(self) -> Ints:
        """Main concepts, ascending."""
        ascending: Ints = self.concepts[self.by_concept, 0]
        return ascending

    def drawn(self, generator: np.random.Generator, concepts: Ints, n: int) -> Ints:
        """Draw n titles for each query, some of its concept, some of its topic, some of any.

        Where there is none of the concept or topic, one of any takes its place.
        """
        size = (len(concepts), n)
        way = generator.random(size)
        main = np.broadcast_to(concepts[:, :1], size)
        first = np.where(way < 0.4, main, main // CONCEPTS * CONCEPTS)
        end = np.where(way < 0.4, main + 1, first + CONCEPTS)
        low, high = np.searchsorted(self.mains, first), np.searchsorted(self.mains, end)
        anywhere = (way >= 0.7) | (low == high)
        low, high = np.where(anywhere, 0, low), np.where(anywhere, len(self.mains), high)
        return self.by_concept[low + (generator.random(size) * (high - low)).astype(np.int64)]


def grades_of(queries: Ints, titles: Ints) -> Ints:
    """Return the grade, 0 to 4, of titles for queries by the concepts of both.

    4: the main concept of the query is that of the title, and the title has every concept of the
    query; 3: the main concepts agree; 2: another concept is shared; 1: the topics of the main
    concepts agree; else 0.

    Parameters
    ----------
    queries : int array
        (..., concepts of a query), the main one first, -1 for none.
    titles : int array
        (..., concepts of a title), likewise.
    """
    shared = (queries[..., :, None] == titles[..., None, :]) & (queries[..., :, None] >= 0)
    main = queries[..., 0] == titles[..., 0]
    has_all = (shared.any(-1) | (queries < 0)).all(-1)
    topic = queries[..., 0] // CONCEPTS == titles[..., 0] // CONCEPTS
    grades: Ints = np.select([main & has_all, main, shared.any((-1, -2)), topic], [4, 3, 2, 1], 0)
    return grades


@dataclass(frozen=True)
class QueryLogWorld:
    """A made query log: all of it follows from these settings.

    Attributes
    ----------
    titles, queries, judged : int
        How many there are; of queries those that are drawn to be clicked for, with repetitions.
    topics : int
        Number of topics; each has concepts of its own.
    gap : float
        Probability that a query says a concept in words that no title has.
    seed : int
        Random seed.
    """

    titles: int
    queries: int
    judged: int
    topics: int
    gap: float
    seed: int

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose])

    @cached_property
    def _vocabulary(self) -> pl.Series:
        """Return general words, then those of titles, then those of queries."""
        number = _GENERAL + 2 * WORDS * CONCEPTS * self.topics
        return pl.Series([word_of(n) for n in range(number)])

    def _concepts(self, generator: np.random.Generator, n: int, more: int) -> Ints:
        """Draw a main concept and up to ``more`` others."""
        main = _zipf(generator, n, self.topics) * CONCEPTS + _zipf(generator, n, CONCEPTS)
        others = main[:, None] // CONCEPTS * CONCEPTS + _zipf(generator, (n, more), CONCEPTS)
        anywhere = generator.integers(0, self.topics * CONCEPTS, (n, more))
        others = np.where(generator.random((n, more)) < _ELSEWHERE, anywhere, others)
        none = (generator.random((n, more)) >= _SECOND) | (others == main[:, None])
        return np.column_stack([main, np.where(none, -1, others)])

    def _words(self, generator: np.random.Generator, concepts: Ints, gap: float) -> Ints:
        """Draw a word for each concept, and a general word for half of the texts (-1: none)."""
        size = concepts.shape
        side = np.where(generator.random(size) < gap, WORDS * CONCEPTS * self.topics, 0)
        words = _GENERAL + side + concepts * WORDS + _zipf(generator, size, WORDS)
        general = _zipf(generator, len(concepts), _GENERAL)
        general = np.where(generator.random(len(concepts)) < _SECOND, general, -1)
        return np.column_stack([general, np.where(concepts < 0, -1, words)])

    def _texts(self, words: Ints) -> pl.Series:
        columns = []
        for column in words.T:
            numbers = pl.Series(column)
            columns.append(self._vocabulary.gather(numbers.set(numbers < 0, None)))
        frame = pl.DataFrame({f"{n}": column for n, column in enumerate(columns)})
        joined = pl.concat_str(pl.all(), separator=" ", ignore_nulls=True)
        return frame.select(text=joined)["text"]

    @cached_property
    def _titles(self) -> Titles:
        generator = self._generator(1)
        concepts = self._concepts(generator, self.titles, 2)
        return Titles(concepts, self._words(generator, concepts, 0.0))

    @property
    def _reserved(self) -> int:
        """Return the number of judged titles, which come first and are never clicked."""
        return self.titles // _PART

    def _part(self, first: int, end: int) -> Titles:
        every = self._titles
        return Titles(every.concepts[first:end], every.words[first:end])

    def documents(self) -> Iterator[pl.DataFrame]:
        """Yield ``id`` and ``title``."""
        for first in range(0, self.titles, _AT_ONCE):
            words = self._titles.words[first : first + _AT_ONCE]
            ids = _ids(np.arange(first, first + len(words)))
            yield pl.DataFrame({"id": ids, "title": self._texts(words)})

    def judgements(self) -> pl.DataFrame:
        """Return ``text``, ``document`` and ``grade`` of the judged lists."""
        generator = self._generator(2)
        concepts = self._concepts(generator, self.judged, 1)
        texts = self._texts(self._words(generator, concepts, self.gap))
        titles = self._part(0, self._reserved)
        drawn = titles.drawn(generator, concepts, 2 * CANDIDATES)
        rows = pl.DataFrame(
            {
                "query": np.repeat(np.arange(self.judged), drawn.shape[1]),
                "document": drawn.ravel(),
                "grade": grades_of(concepts[:, None], titles.concepts[drawn]).ravel(),
            }
        ).unique(["query", "document"], keep="first", maintain_order=True)
        rows = rows.group_by("query", maintain_order=True).head(CANDIDATES)
        # A wording is one query, though two intents may be worded alike.
        first = pl.DataFrame({"text": texts}).with_row_index("query").unique("text", keep="first")
        lists = rows.join(first.with_columns(pl.col("query").cast(pl.Int64)), on="query")
        return lists.sort("query", maintain_order=True).select(
            "text",
            document=_ids(lists["document"].to_numpy()),
            grade=pl.col("grade").cast(pl.Float32),
        )

    def texts(self) -> Iterator[pl.DataFrame]:
        """Yield ``id``, ``title`` and ``text``, which says the concepts of the title once more."""
        generator = self._generator(4)
        for first, titles in zip(range(0, self.titles, _AT_ONCE), self.documents(), strict=True):
            concepts = self._titles.concepts[first : first + _AT_ONCE]
            twice = [self._texts(self._words(generator, concepts, 0.0)) for _ in range(2)]
            yield titles.with_columns(text=twice[0] + " " + twice[1])

    def visits(self, visits: int) -> Iterator[pl.DataFrame]:
        """Yield visits in blocks: what was searched, what was shown for it, what was clicked.

        A row has the number of the ``visit``, its ``text``, a ``document`` with its ``position``
        from 1, and ``clicked``. The same queries come again, by Zipf's law, and their titles in
        another order.
        """
        generator = self._generator(5)
        concepts = self._concepts(generator, self.queries, 1)
        texts = self._texts(self._words(generator, concepts, self.gap))
        titles = self._titles.drawn(generator, concepts, RESULTS)
        grades = grades_of(concepts[:, None], self._titles.concepts[titles])
        for first in range(0, visits, _AT_ONCE):
            number = np.arange(first, min(first + _AT_ONCE, visits))
            query = _zipf(generator, len(number), self.queries)
            order = np.argsort(_by_noise(generator, grades[query]), axis=1)
            shown = np.take_along_axis(titles[query], order, 1)
            chance = np.array(CLICKED)[np.take_along_axis(grades[query], order, 1)] / PLACES
            clicked = generator.random(chance.shape) < chance
            rows = pl.DataFrame(
                {
                    "visit": np.repeat(number, RESULTS),
                    "text": texts.gather(np.repeat(query, RESULTS)),
                    "document": _ids(shown.ravel()),
                    "position": np.tile(PLACES, len(number)),
                    "clicked": clicked.ravel(),
                }
            )
            yield rows.unique(["visit", "document"], keep="first", maintain_order=True)

    def clicks(self) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield a number of queries, and the pairs that are kept of those after it.

        A pair has ``text``, ``document``, ``clicks`` and ``shown``.
        """
        titles = self._part(self._reserved, self.titles)
        for first in range(0, self.queries, _AT_ONCE):
            generator = self._generator(3, first)
            ranks = np.arange(first, min(first + _AT_ONCE, self.queries))
            concepts = self._concepts(generator, len(ranks), 1)
            texts = self._texts(self._words(generator, concepts, self.gap))
            showings = np.maximum(2, _MOST // (1 + ranks * _MOST // self.queries))
            yield first, _clicked(generator, titles, concepts, texts, showings, self._reserved)


def _by_noise(generator: np.random.Generator, grades: Ints) -> NDArray[np.float64]:
    """Return the grades with noise, by which the search engine sorts."""
    noise: NDArray[np.float64] = _NOISE * generator.standard_normal(grades.shape)
    return -(grades + noise)


def _clicked(
    generator: np.random.Generator,
    titles: Titles,
    concepts: Ints,
    texts: pl.Series,
    showings: Ints,
    reserved: int,
) -> pl.DataFrame:
    drawn = titles.drawn(generator, concepts, RESULTS)
    grades = grades_of(concepts[:, None], titles.concepts[drawn])
    order = np.argsort(_by_noise(generator, grades), axis=1)
    drawn, grades = (np.take_along_axis(values, order, 1) for values in (drawn, grades))
    looked = 1 / PLACES
    earlier = np.argmax(drawn[:, :, None] == drawn[:, None, :], axis=2)
    # A title that was drawn twice is shown once: its second place stays empty.
    chance = np.where(earlier == np.arange(RESULTS), looked * np.array(CLICKED)[grades], 0.0)
    clicks = generator.binomial(showings[:, None], chance)
    kept = clicks > LEAST * showings[:, None] * looked
    rows = np.nonzero(kept)[0]
    return pl.DataFrame(
        {
            "text": texts.gather(rows),
            "document": _ids(reserved + drawn[kept]),
            "clicks": clicks[kept],
            "shown": showings[rows],
        }
    )


def _ids(numbers: Ints) -> pl.Series:
    return "t" + pl.Series(numbers).cast(pl.String)
