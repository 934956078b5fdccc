"""Kinds of queries by their names, and which documents are relevant to them."""

from __future__ import annotations

import re
from typing import Literal, get_args

from ssi_core.collection import Collection
from ssi_core.remedies import typed
from ssi_core.types import BadInput

Relevant = Literal[
    "link", "translation", "translation > link", "click", "judgement", "anchor", "self"
]
Split = Literal["pairs", "documents", "articles", "users", "time", "queries", "given"]
Vocabularies = Literal["documents", "one", "two"]

LINK, TRANSLATION, LINK_OF_TRANSLATION, CLICK, JUDGEMENT, ANCHOR, SELF = get_args(Relevant)
OF_DOCUMENTS = (LINK, ANCHOR, SELF)
"""Relations whose queries are documents, or names of documents."""

WORDS_OF, LINK_OF = "words:", "link:"
"""Beginnings of kinds whose queries are drawn words."""
ANCHORS, TITLES, GOALS = "anchors", "titles", "goals"
AUXILIARY = re.compile(r"anchors|titles|link|(words|link):[1-9][0-9]*")
"""Kinds that a task may have beside its own."""


def words_of(kind: str) -> int:
    """Return N of ``words:N`` or ``link:N``."""
    return int(kind.rpartition(":")[2])


def relation_of(kind: str) -> str:
    """Return what is relevant to a kind of queries beside a task."""
    relation: str = LINK if kind.startswith(LINK) else ANCHOR if kind == ANCHORS else SELF
    return relation


def fields_of(kind: str) -> dict[str, str]:
    """Return ``relevant`` and ``queries`` of the task that asks a kind of query.

    A kind has the name that it has in ``auxiliary``, or else that of its relation.

    Raises
    ------
    ValueError
        There is no such kind.

    >>> fields_of("link:3"), fields_of("titles")
    ({'relevant': 'link', 'queries': 'words:3'}, {'relevant': 'self', 'queries': 'titles'})
    """
    if AUXILIARY.fullmatch(kind):
        of_words = f"{WORDS_OF}{words_of(kind)}" if ":" in kind else ""
        queries = of_words or (kind if kind == TITLES else "")
        return {"relevant": relation_of(kind), **({"queries": queries} if queries else {})}
    if kind == GOALS:
        return {"relevant": CLICK, "queries": GOALS}
    if kind not in (CLICK, JUDGEMENT, TRANSLATION, LINK_OF_TRANSLATION):
        raise ValueError(
            f"{kind!r}: expected link, link:N, anchors, titles, words:N, click, goals, judgement, "
            f"{TRANSLATION!r} or {LINK_OF_TRANSLATION!r}"
        )
    return {"relevant": kind}


def no_links() -> str:
    """Return what is wrong with a collection without pairs, and what to do."""
    return (
        "it has no links, and without links there is nothing to learn from or to test on. Ingest "
        "documents that link to each other, or let titles or words of a document be its queries "
        f"({typed('relevant', 'self')}, or {typed('query-type', 'words:3')})."
    )


def only_relevant(collection: Collection) -> str:
    """Return what is relevant in a collection where nobody has chosen: clicks, judgements or links.

    Raises
    ------
    BadInput
        It has translations, so that there is a choice, or nothing at all.
    """
    known = collection.relevant
    if TRANSLATION in known or not known:
        choices = " or ".join(typed("relevant", one) for one in known)
        raise BadInput(
            f"{collection.path}: "
            + (f"which documents are relevant? Say so: {choices}." if known else no_links())
        )
    return known[0]
