"""Relevance of feeds to topics named by a category, or by the title of an article.

    python -m benchmarks.topic_titles COLLECTION FEEDS TOPICS --out docs/results/feeds-titles.json

FEEDS is what 'ssi rank feeds write COLLECTION FEEDS --topics TOPICS' wrote. A topic's title is that
of the article to which its documents link more than all documents do. Feeds, folds and topics are
the same with all names, a feed has at most 40 entries, and tests in F are paired by topic. A title
is chosen by the links of the very documents that are judged, and so in favour of titles.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection as Some
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ssi_core.collection import open_collection
from ssi_core.evaluation.significance import holm, paired_randomisation, rounds_of
from ssi_core.files import write_result
from ssi_core.guests.feeds.compare import Judged, Pairs, judge, pairs_of, topics_of
from ssi_core.guests.feeds.elements import ELEMENTS, Match, score
from ssi_core.guests.feeds.reading import Feed, read_feeds
from ssi_core.guests.feeds.relevance import measures
from ssi_core.guests.feeds.writing import known_ids, read_topics
from ssi_core.types import Float64

ENTRIES = 40
WEIGHTS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)
LEAST = 3
COMPARED = (*((one,) for one in ELEMENTS), ELEMENTS)


def linked_most(
    documents: Mapping[str, Some[str]], links: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """Return of each topic the document to which its own link more than all documents do.

    With the share ``p`` of a topic's documents, and ``q`` of all, it has the largest
    ``p log(p / q)``; of equal ones it is the first by id.

    Parameters
    ----------
    documents : mapping
        Topic -> ids of its documents.
    links : iterable
        Source and target of each link.
    """
    sources: dict[str, set[str]] = {}
    for source, target in links:
        sources.setdefault(target, set()).add(source)
    every = len(set().union(*sources.values()))
    found = {}
    for topic, ids in documents.items():
        own = set(ids)
        shares = {target: len(own & of) / len(own) for target, of in sources.items()}
        found[topic] = max(
            sorted(shares),
            key=lambda one: (
                shares[one] * np.log(shares[one] * every / len(sources[one])) if shares[one] else 0
            ),
        )
    return found


def judged(
    feeds: Sequence[Feed], topics: Sequence[str], words: Sequence[str], match: Match
) -> tuple[Pairs, dict[str, Judged]]:
    """Return the pairs, and the judgements from each element and from all.

    Parameters
    ----------
    feeds : sequence of Feed
        Feeds on the topics.
    topics : sequence of str
        Topics, as the feeds name them.
    words : sequence of str
        What stands for each topic.
    match : Match
        Whether an element must have all terms of it, or any.
    """
    scores = score(feeds, words, ENTRIES, match=match)
    pairs = pairs_of(feeds, topics, scores, 0)
    return pairs, {
        "+".join(elements): judge(pairs, scores.columns(elements, ENTRIES), WEIGHTS)
        for elements in COMPARED
    }


def f_of(one: Judged, pairs: Pairs) -> Float64:
    """Return F of each topic."""
    return measures(one.right, one.wrong, pairs.relevant_of)[2]


def numbers_of(one: Judged, pairs: Pairs) -> dict[str, float]:
    """Return P, R and F over all pairs, and the mean F of topics with its standard error."""
    total = measures(one.right.sum(), one.wrong.sum(), pairs.relevant_of.sum())
    of_topics = f_of(one, pairs)
    return {
        **dict(zip(("precision", "recall", "f"), map(float, total), strict=True)),
        "f_topics": float(of_topics.mean()),
        "f_topics_se": float(of_topics.std(ddof=1) / np.sqrt(len(of_topics))),
    }


def compared(feeds: Sequence[Feed], titles: Mapping[str, str]) -> dict[str, Any]:
    """Return what each way to name topics reaches.

    Parameters
    ----------
    feeds : sequence of Feed
        Feeds on the topics.
    titles : mapping
        Topic -> title that stands for it.
    """
    topics = topics_of(feeds, LEAST)
    named = [titles[topic] for topic in topics]
    pairs, by_category = judged(feeds, topics, topics, "all")
    ways: dict[str, tuple[Sequence[str], Match]] = {
        "category": (topics, "all"),
        "any word of the category": (topics, "any"),
        "title": (named, "all"),
    }
    rows: list[dict[str, Any]] = []
    for way, (words, match) in ways.items():
        known, found = judged(feeds, topics, words, match)
        for label, one in found.items():
            row = {"names": way, "elements": label, **numbers_of(one, known)}
            rows.append(row)
            if way != "category":
                ours, theirs = f_of(one, known), f_of(by_category[label], pairs)
                row["difference"] = float((ours - theirs).mean())
                rounds = rounds_of((len(ways) - 1) * len(COMPARED))
                row["p"] = paired_randomisation(ours, theirs, rounds=rounds)
    tested = [row for row in rows if "p" in row]
    for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = float(p)
    return {
        "feeds": len(feeds),
        "topics": len(topics),
        "titles": dict(zip(topics, named, strict=True)),
        "rows": rows,
    }


def main() -> None:
    """Read the feeds, name the topics by titles, compare."""
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("collection", type=Path)
    given.add_argument("feeds", type=Path)
    given.add_argument("topics", type=Path)
    given.add_argument("--out", type=Path, required=True)
    asked = given.parse_args()
    opened = open_collection(asked.collection)
    documents, _ = read_topics(asked.topics, known_ids(opened))
    links = opened.links.select("source", "target").collect().iter_rows()
    named = dict(opened.names("documents").select("id", "title").iter_rows())
    titles = {topic: named[one] for topic, one in linked_most(documents, links).items()}
    write_result(asked.out, compared(list(read_feeds(asked.feeds, Counter())), titles))


if __name__ == "__main__":
    main()
