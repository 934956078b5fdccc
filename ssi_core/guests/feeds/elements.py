"""Features of a feed and a topic: how much of each element of the feed the topic's words are.

    sigma(q, B) = sum_{t in q} tf(t, B) / |B|   where q is in B, else 0

for B the feed's title (FT), its description (FD), and the title (ET) and the description (ED) of
each of its n newest entries. Terms are stems of words that are no stop words.

Source: Y. Shin and J. Park, An SVM based approach to feature selection for topical relevance
judgement of feeds (SIGIR workshop on feature generation and selection, 2010), section 2. Its "if q
is in B" does not say whether B must have all terms of q or any; a query of one term is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from ssi_core.guests.feeds.reading import Feed
from ssi_core.text.stems import stems_of
from ssi_core.types import Int64

ELEMENTS = ("FT", "FD", "ET", "ED")
"""Title and description of a feed, titles and descriptions of its entries."""
SETS: tuple[tuple[str, ...], ...] = tuple(
    some for size in range(1, 5) for some in combinations(ELEMENTS, size)
)
"""The 15 sets of elements."""

Match: TypeAlias = Literal["all", "any"]
Stems: TypeAlias = Callable[[str], list[str]]


@dataclass(frozen=True)
class Scores:
    """Scores of all feeds for all topics.

    Attributes
    ----------
    values : CSR float64 (feeds * topics, 2 + 2 * entries)
        Row ``feed * topics + topic``; columns FT, FD, ET of each entry, ED of each entry.
    entries : int
        Most entries of a feed that are scored.
    """

    values: sparse.csr_array
    entries: int

    def columns(self, elements: Sequence[str], n: int) -> Int64:
        """Return the columns of some elements, of the first n entries."""
        columns = {
            "FT": [0],
            "FD": [1],
            "ET": range(2, 2 + n),
            "ED": range(2 + self.entries, 2 + self.entries + n),
        }
        return np.array([one for name in elements for one in columns[name]], np.int64)


def score(
    feeds: Sequence[Feed],
    topics: Sequence[str],
    entries: int,
    *,
    match: Match = "all",
    stems: Stems = stems_of,
    progress: Callable[[float, str], None] | None = None,
) -> Scores:
    """Score every feed for every topic.

    Parameters
    ----------
    feeds : sequence of Feed
        Feeds whose elements are scored.
    topics : sequence of str
        Texts of the queries.
    entries : int
        Newest entries of a feed that are scored.
    match : Match
        Whether an element must have all terms of the topic, or any.
    stems : callable
        Terms of a text.
    progress : callable, optional
        Told the share that is done.
    """
    queries = [tuple(dict.fromkeys(stems(topic))) for topic in topics]
    topics_of: dict[str, list[int]] = {}
    for number, query in enumerate(queries):
        for term in query:
            topics_of.setdefault(term, []).append(number)
    sizes = [len(query) if match == "all" else 1 for query in queries]
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    for number, feed in enumerate(feeds):
        if progress is not None and number % 50 == 0:
            progress(number / len(feeds), f"{number:,} of {len(feeds):,} feeds scored")
        for column, text in _bags(feed, entries):
            for topic, value in _sigma(stems(text), topics_of, sizes):
                rows.append(number * len(topics) + topic)
                columns.append(column)
                values.append(value)
    shape = (len(feeds) * len(topics), 2 + 2 * entries)
    return Scores(sparse.csr_array((values, (rows, columns)), shape=shape), entries)


def _bags(feed: Feed, entries: int) -> Iterable[tuple[int, str]]:
    """Yield the column and the text of each element."""
    yield 0, feed.title
    yield 1, feed.description
    for position, entry in enumerate(feed.entries[:entries]):
        yield 2 + position, entry.title
        yield 2 + entries + position, entry.description


def _sigma(
    bag: list[str], topics_of: dict[str, list[int]], sizes: Sequence[int]
) -> Iterable[tuple[int, float]]:
    """Yield the topics of which a bag has enough terms, with their scores."""
    matched: Counter[int] = Counter()
    frequency: Counter[int] = Counter()
    for term, count in Counter(bag).items():
        for topic in topics_of.get(term, ()):
            matched[topic] += 1
            frequency[topic] += count
    for topic, terms in matched.items():
        if terms >= sizes[topic]:
            yield topic, frequency[topic] / len(bag)
